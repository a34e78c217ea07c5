"""Every code a document can earn, with the sentence that explains it.

Codes are stable: a script may match them. A number is never given to another mistake, so new ones go at the
end of their block. Blocks: 001-010 the file, 011-029 one value, 030-049 values that contradict each other,
050-069 remarks (legal, but worth a look), 070-079 manifests taken over by `tonnage init --from`.
"""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "DOC-001": "The file cannot be read.",
    "DOC-002": "The file is not UTF-8 text.",
    "DOC-003": "The file is not YAML.",
    "DOC-004": "Unknown field.",
    "DOC-005": "The same key is written twice.",
    "DOC-006": "A required field is missing.",
    "DOC-007": "A value of the wrong type.",
    "DOC-008": "The file is too large, too deep, or expands too far.",
    "DOC-009": "The file holds no document.",
    "DOC-010": "Unknown kind or apiVersion.",
    "DOC-011": "Not a size.",
    "DOC-012": "Not a duration.",
    "DOC-013": "Not an amount of money.",
    "DOC-014": "Not a number of GPUs.",
    "DOC-015": "Not a count or a number of cores.",
    "DOC-016": "Not one of the choices.",
    "DOC-017": "Not a legal name.",
    "DOC-018": "Not a legal label, annotation or taint.",
    "DOC-019": "A secret written into the document.",
    "DOC-020": "A range whose end is below its start.",
    "DOC-021": "A number out of bounds.",
    "DOC-022": "Not a place that bytes can live in.",
    "DOC-023": "Not a schedule.",
    "DOC-024": "Not a command.",
    "DOC-025": "Not a legal value of this field.",
    "DOC-030": "Two of them have the same name.",
    "DOC-031": "Exactly one of several fields must be given.",
    "DOC-032": "The guaranteed amount is above the maximum.",
    "DOC-033": "The minimum is above the maximum, or the default lies outside of them.",
    "DOC-034": "The run ends before its first checkpoint.",
    "DOC-035": "Several nodes with less than one GPU each.",
    "DOC-036": "The target cannot run this.",
    "DOC-037": "Two things are mounted at the same path.",
    "DOC-038": "A field that only makes sense with another one.",
    "DOC-039": "Something is named that this document does not define.",
    "DOC-050": "Spot capacity without checkpoints.",
    "DOC-051": "A value that looks like a secret.",
    "DOC-052": "A GPU type that is not in our table.",
    "DOC-053": "Part of a GPU.",
    "DOC-054": "Checkpoints on storage that dies with the pod.",
    "DOC-055": "Image without a fixed version.",
    "DOC-057": "An environment variable that undoes what Tonnage sets.",
    "DOC-058": "Nothing to run.",
    "DOC-070": "A manifest that is not a training job.",
    "DOC-071": "An object beside the training that Kubernetes could not read.",
}
