"""Training manifests as people write them, one per kind."""

from __future__ import annotations

JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: finetune
  namespace: research
  labels: {kueue.x-k8s.io/queue-name: gpu-queue}
spec:
  backoffLimit: 3
  activeDeadlineSeconds: 86400
  template:
    spec:
      restartPolicy: Never
      priorityClassName: ml-high
      terminationGracePeriodSeconds: 120
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}
      tolerations: [{key: nvidia.com/gpu, operator: Exists}]
      containers:
        - name: sidecar
          image: logs:1
        - name: train
          image: train:1
          command: [torchrun, --nproc_per_node=4, train.py]
          args: [--output_dir, /ckpt/run1, --save_total_limit, "2"]
          env:
            - {name: EPOCHS, value: "3"}
            - {name: TOKEN, valueFrom: {secretKeyRef: {name: hf, key: token}}}
          resources:
            requests: {cpu: 16, memory: 128Gi}
            limits: {nvidia.com/gpu: 4, memory: 128Gi}
          volumeMounts:
            - {name: ckpt, mountPath: /ckpt}
            - {name: dshm, mountPath: /dev/shm}
      volumes:
        - {name: ckpt, persistentVolumeClaim: {claimName: checkpoints}}
        - {name: dshm, emptyDir: {medium: Memory, sizeLimit: 16Gi}}
"""

JOB_SET = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: gang}
spec:
  suspend: true
  failurePolicy: {maxRestarts: 4}
  replicatedJobs:
    - name: driver
      template:
        spec: {template: {spec: {containers: [{name: d, image: d}]}}}
    - name: workers
      replicas: 2
      template:
        spec:
          parallelism: 4
          completions: 4
          completionMode: Indexed
          activeDeadlineSeconds: 7200
          template:
            spec:
              containers:
                - name: w
                  image: w
                  command: [sh, -c, "exec torchrun --nproc-per-node $NPROC train.py --checkpoint-dir /tmp/out"]
                  env: [{name: NPROC, value: "8"}]
                  resources: {limits: {nvidia.com/gpu: 8}}
"""

TRAIN_JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tj}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    numNodes: 2
    numProcPerNode: gpu
    image: train:1
    command: [torchrun, train.py]
    resourcesPerNode: {limits: {nvidia.com/gpu: 4}}
  podTemplateOverrides:
    - targetJobs: [{name: node}]
      spec:
        nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
        tolerations: [{key: cloud.google.com/gke-spot, operator: Equal, value: "true"}]
    - targetJobs: [{name: dataset-initializer}]
      spec: {nodeSelector: {disk: big}}
"""

PYTORCH_JOB = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: mnist}
spec:
  nprocPerNode: "2"
  runPolicy: {backoffLimit: 1, suspend: false}
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template: &pod
        spec:
          containers:
            - name: pytorch
              image: mnist:1
              command: [python, -m, torch.distributed.run, mnist.py]
              resources: {limits: {nvidia.com/gpu: 2}}
              volumeMounts: [{name: out, mountPath: /checkpoints}]
          volumes: [{name: out, emptyDir: {}}]
    Worker:
      replicas: 3
      template: *pod
"""

TF_JOB = """
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: tf}
spec:
  tfReplicaSpecs:
    PS: {replicas: 2, template: {spec: {containers: [{name: tensorflow, image: tf:1}]}}}
    Worker:
      replicas: 4
      template:
        spec:
          containers:
            - name: tensorflow
              image: tf:1
              command: [python, train.py, --model_dir=gs://bucket/run]
              resources: {limits: {nvidia.com/gpu: 1}}
"""

MPI_JOB = """
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: hvd}
spec:
  slotsPerWorker: 8
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template: {spec: {containers: [{name: l, image: l, command: [mpirun, -np, "16", python, train.py]}]}}
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: w, image: w, resources: {limits: {nvidia.com/gpu: 8}}}]}}
"""

POD = """
apiVersion: v1
kind: Pod
metadata: {name: notebook-run}
spec:
  activeDeadlineSeconds: 600
  containers:
    - name: main
      image: train:1
      command: [python, train.py]
      resources: {limits: {nvidia.com/mig-1g.10gb: 1}}
"""

BESIDE = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ckpt}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Ti}}}
"""
