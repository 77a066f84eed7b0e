#!/usr/bin/env python3
"""Asks the Prometheus of the stack all that the dashboard asks, and for its
alerts and targets. It fails where a panel would be empty."""

import json
import sys
import urllib.parse
import urllib.request

here = sys.path[0]
panels = json.load(open(here + "/grafana/freshet.json"))["panels"]


def ask(path, **query):
    url = "http://127.0.0.1:9090/api/v1/" + path + "?" + urllib.parse.urlencode(query)
    answer = json.load(urllib.request.urlopen(url, timeout=10))
    assert answer["status"] == "success", answer
    return answer["data"]


wrong = []
for panel in panels:
    for target in panel["targets"]:
        expr = target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")
        if not ask("query", query=expr)["result"]:
            wrong.append(f"panel {panel['title']}: {expr} has no data")
rules = [r for g in ask("rules")["groups"] for r in g["rules"]]
wrong += [f"alert {r['name']}: {r.get('lastError')}" for r in rules if r["health"] != "ok"]
targets = ask("targets")["activeTargets"]
wrong += [f"target {t['scrapeUrl']}: {t['lastError']}" for t in targets if t["health"] != "up"]
if not rules or not targets:
    wrong.append("no alerts, or no targets")
print("\n".join(wrong) or f"# {len(panels)} panels and {len(rules)} alerts have what they ask for, from {len(targets)} targets")
sys.exit(bool(wrong))
