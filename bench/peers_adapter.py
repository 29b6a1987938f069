"""This service as a target of the peers benchmark (OURS_ADAPTER): one embedded process on empty data."""
import json
import shutil
import socket
import subprocess
import time
from datetime import datetime, timedelta
from pathlib import Path

import requests

from common import Server, run_timed
from targets import Search

ROOT = Path(__file__).resolve().parent.parent
NODE = ROOT / "node_modules/.bin/node"
API_KEY = "peers-benchmark-key"

# The columns of a page of records.
COLUMNS = {"column_ids": ["name", "input", "output", "status_code", "created_at",
                          "metrics/duration_ns", "metrics/num_total_tokens"]}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Target:
    name = "ours"
    parts = ("ingest", "search", "experiment")
    formats = ("proto", "json")

    def __init__(self):
        self.url, self.headers, self.server, self.folder = None, {"Service-API-Key": API_KEY}, None, None

    def versions(self):
        node = subprocess.run([NODE, "--version"], capture_output=True, text=True).stdout.strip()
        return [f"assay=={json.loads((ROOT / 'package.json').read_text())['version']}", f"node=={node}"]

    def start(self, data_dir):
        """As `npm start` does. Called again on the same folder, it goes on with the data there."""
        self.folder, port = data_dir, free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.server = Server(
            [str(NODE), "start.ts"],
            {"HOST": "127.0.0.1", "PORT": str(port), "DATA_DIR": str(data_dir),
             "TEMPORAL_PORT": "0", "TEMPORAL_UI_PORT": "0", "ADMIN_API_KEY": API_KEY, "LOG_LEVEL": "warn",
             **dict.fromkeys(("CLICKHOUSE_URL", "DATABASE_URL", "REDIS_URL", "TEMPORAL_ADDRESS"), "")},
            ROOT, f"{self.url}/healthcheck", f"{data_dir}.log")
        self.project, self.run = self.open_run("bench")
        self.open_run("warmup")
        return {"startup_s": self.server.startup_s}

    def attach(self, url, headers):
        self.url, self.headers = url.rstrip("/"), {**self.headers, **headers}
        self.project, self.run = self.open_run("bench")

    def stop(self):
        if self.server:
            self.server.stop()
            shutil.rmtree(self.snapshot(), ignore_errors=True)

    def pids(self):
        """Everything runs in this process, but for Temporal's server, its child."""
        return [self.server.proc.pid] if self.server else []

    def snapshot(self):
        return f"{self.folder}-snapshot"

    def data_dirs(self):
        """A copy by hard links of this moment: merges go on, and a folder that vanishes would end the walk that measures it."""
        if not self.folder:
            return []
        shutil.rmtree(self.snapshot(), ignore_errors=True)
        subprocess.run(["cp", "-al", self.folder, self.snapshot()], stderr=subprocess.DEVNULL)
        return [self.snapshot()]

    def api(self, method, path, **kw):
        r = requests.request(method, f"{self.url}/v2{path}", headers=self.headers, timeout=120, **kw)
        r.raise_for_status()
        return r.json()

    def open_run(self, name):
        """Ids of a project of this name and of its log stream, both made where absent."""
        found = self.api("GET", "/projects", params={"project_name": name})
        project = (found[0] if found else self.api("POST", "/projects", json={"name": name}))["id"]
        streams = self.api("GET", f"/projects/{project}/log_streams")
        stream = next((s for s in streams if s["name"] == name), None)
        return project, (stream or self.api("POST", f"/projects/{project}/log_streams", json={"name": name}))["id"]

    def otlp(self, fmt, project="bench"):
        kind = {"proto": "application/x-protobuf", "json": "application/json"}[fmt]
        return f"{self.url}/otel/traces", {**self.headers, "content-type": kind, "project": project, "logstream": project}

    def warm_otlp(self, fmt):
        return self.otlp(fmt, "warmup")

    def count_spans(self):
        return self.api("POST", f"/projects/{self.project}/spans/partial_search",
                        json={"log_stream_id": self.run, "pagination": {"limit": 1, "starting_token": 0},
                              "select_columns": {"column_ids": ["id"]}})["num_rows"]

    def searches(self, meta):
        facts, models, needles = meta["facts"], meta["models"], meta["needles"]
        anchor = datetime.fromisoformat(meta["anchor"])

        def post(path, body):
            return ("POST", f"{self.url}/v2/projects/{self.project}/{path}",
                    {"json": {"log_stream_id": self.run, **body}, "headers": self.headers})

        def page(*filters, kind="traces", sort="created_at", offset=0):
            return post(f"{kind}/partial_search", {
                "filters": filters, "sort": {"column_id": sort, "ascending": False}, "truncate_fields": True,
                "pagination": {"starting_token": offset, "limit": 50}, "select_columns": COLUMNS})

        def leaf(type, column, operator, value):
            return {"type": type, "column_id": column, "operator": operator, "value": value}

        def rows(body):
            """Of the page and of all that match: the exact total that comes with a page has to be right as well."""
            return len(body["records"]), body["num_rows"]

        def page_of(total, offset=0):
            return max(0, min(50, total - offset)), total

        def calls(body):
            return sum(bucket.get("calls", 0) for buckets in body["bucketed_metrics"].values() for bucket in buckets)

        return {
            "newest_50": Search(lambda i: page(), rows, lambda i: page_of(meta["traces"])),
            "errors_last_day": Search(
                lambda i: page(leaf("number", "status_code", "gte", 500),
                               leaf("date", "created_at", "gte", meta["last_day"])),
                rows, lambda i: page_of(facts["errors_last_day"])),
            "text_in_input": Search(
                lambda i: page(leaf("text", "input", "contains", needles[i % 10])),
                rows, lambda i: page_of(facts["needle:" + needles[i % 10]])),
            "llm_model_tokens": Search(
                lambda i: page(leaf("text", "type", "eq", "llm"), leaf("text", "model", "eq", models[i % 10]),
                               leaf("number", "metrics/num_total_tokens", "gt", meta["token_threshold"]),
                               kind="spans", sort="metrics/duration_ns"),
                rows, lambda i: page_of(facts["model_over:" + models[i % 10]])),
            "page_20": Search(lambda i: page(offset=950), rows, lambda i: page_of(meta["traces"], 950)),
            "counts_by_model": Search(
                lambda i: post("metrics/custom_search", {
                    "filters": [leaf("text", "type", "eq", "llm")], "group_by": "model",
                    # The last traces begin before the anchor and end behind it.
                    "start_time": (anchor - timedelta(days=29)).isoformat(), "end_time": (anchor + timedelta(days=1)).isoformat(),
                    "interval_minutes": 30 * 24 * 60,
                    "metric_details": [{"id": "calls", "metric_name": "num_total_tokens", "aggregation": "Count"}]}),
                calls, lambda i: sum(v for k, v in facts.items() if k.startswith("model:")),
                "one grouped query; rows = the sum of the counts"),
        }

    def experiment(self, rows, sleep_ms, concurrency, log):
        result = run_timed([str(NODE), str(ROOT / "bench/peersExperiment.ts"), "--rows", str(rows),
                            "--sleep-ms", str(sleep_ms), "--concurrency", str(concurrency)],
                           env={"SERVICE_API_URL": self.url, "SERVICE_API_KEY": API_KEY,
                                "SERVICE_PROJECT_ID": self.project, "SERVICE_PROJECT": ""},
                           extra_pids=self.pids, log=log)
        for _ in range(50):  # the folder is measured next: see data_dirs
            if not any(Path(self.folder).glob("clickhouse/store/*/*/tmp_*")):
                break
            time.sleep(0.1)
        return result
