from tonnage.sandbox.controllers.manifests import definitions, webhooks


def a_hook(path: str = "/mutate") -> dict:
    return {
        "name": "mpod.kb.io",
        "clientConfig": {"service": {"name": "webhook-service", "namespace": "system", "path": path}},
        "namespaceSelector": {"matchExpressions": [{"key": "k", "operator": "Exists"}]},
        "failurePolicy": "Fail",
    }


def a_configuration() -> dict:
    return {
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "mutating-webhook-configuration"},
        "webhooks": [a_hook("/one"), a_hook("/two")],
    }


def test_hooks_are_called_on_this_machine_under_their_own_paths():
    (made,) = webhooks([a_configuration()], "kueue-", 20200, "Q0E=")

    assert made["metadata"]["name"] == "kueue-mutating-webhook-configuration"
    assert [hook["clientConfig"] for hook in made["webhooks"]] == [
        {"url": "https://127.0.0.1:20200/one", "caBundle": "Q0E="},
        {"url": "https://127.0.0.1:20200/two", "caBundle": "Q0E="},
    ]


def test_all_else_about_a_hook_is_as_upstream_ships_it():
    before = a_configuration()
    (made,) = webhooks([before], "", 1, "")

    for old, new in zip(before["webhooks"], made["webhooks"], strict=True):
        assert {**old, "clientConfig": None} == {**new, "clientConfig": None}


def test_services_are_dropped():
    assert webhooks([{"kind": "Service", "metadata": {"name": "webhook-service"}}], "", 1, "") == []


def test_conversion_is_asked_of_this_machine_too():
    crd = {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "clusterqueues.kueue.x-k8s.io"},
        "spec": {
            "group": "kueue.x-k8s.io",
            "conversion": {"strategy": "Webhook", "webhook": a_hook("/convert")},
        },
    }
    (made,) = definitions([crd], 20200, "Q0E=")

    assert made["spec"]["conversion"]["webhook"]["clientConfig"]["url"] == "https://127.0.0.1:20200/convert"
    assert made["spec"]["group"] == "kueue.x-k8s.io"


def test_a_definition_without_conversion_stays_as_it_is():
    crd = {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "x"},
        "spec": {"conversion": {"strategy": "None"}},
    }
    assert definitions([crd], 1, "") == [crd]
