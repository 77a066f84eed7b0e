#!/usr/bin/env python3
"""Takes out of an image what differs from one build to the next: times, and the
names of what it was built in.

    docker save freshet | testdata/compose/timeless.py | docker load

With --digests it prints the digest by which an engine knows the image that it
would write, and those of its layers and files, instead."""

import hashlib
import io
import json
import sys
import tarfile

KEPT = ("User", "ExposedPorts", "Env", "Entrypoint", "Cmd", "Healthcheck", "Volumes", "WorkingDir", "Labels", "StopSignal")
EPOCH = "1970-01-01T00:00:00Z"
sha256 = lambda data: hashlib.sha256(data).hexdigest()

given = tarfile.open(fileobj=io.BytesIO(sys.stdin.buffer.read()))
read = lambda name: given.extractfile(name).read()
[image] = json.loads(read("manifest.json"))
was = json.loads(read(image["Config"]))
layers = [read(name) for name in image["Layers"]]
config = json.dumps({
    "architecture": was["architecture"],
    "os": was["os"],
    "created": EPOCH,
    "config": {k: was["config"][k] for k in KEPT if was["config"].get(k)},
    "history": [{**h, "created": EPOCH} for h in was["history"]],
    "rootfs": was["rootfs"],
}, sort_keys=True).encode()

if "--digests" in sys.argv:
    print("# image sha256:" + sha256(config))
    for layer in layers:
        print("# layer sha256:" + sha256(layer))
        files = tarfile.open(fileobj=io.BytesIO(layer))
        for f in filter(tarfile.TarInfo.isfile, files):
            print("# /" + f.name, sha256(files.extractfile(f).read()))
    sys.exit()

with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as out:
    def add(name, data):
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        out.addfile(entry, io.BytesIO(data))
        return name
    names = [add(sha256(layer) + ".tar", layer) for layer in layers]
    manifest = [{"Config": add(sha256(config) + ".json", config), "RepoTags": image["RepoTags"], "Layers": names}]
    add("manifest.json", json.dumps(manifest).encode())
