#!/usr/bin/env python3
"""An HTTP extender for a Kubernetes scheduler, as a user would write one: no library but Python's own.

usage: extender.py [--port N] [--log FILE] [--stay] [--cert FILE --key FILE [--client-ca FILE]]
                   [--api URL [--api-ca FILE] [--api-token TOKEN]]

It does what the annotations of a pod say, so that it needs no state:
    extender.example/refuse: "n1=no license,n2"      these nodes fail, with this reason
    extender.example/unresolvable: "n3=too old"      likewise, and eviction would not help
    extender.example/scores: "n1=10,n2=3"            0 to 10 by node
    extender.example/victims: "n1"                   pods may be evicted from these nodes only
    extender.example/error: "text"                   every reply is this error
Nodes are sent as objects or as names; the reply has the same form. With --api it binds pods with a POST of a Binding.

Listens on 127.0.0.1 (a free port without --port), prints the port, and ends when its standard input does, or with
--stay when it is killed. Every request is a line of JSON in the log: {"verb": ..., "args": ...}.
"""
import argparse
import http.client
import json
import ssl
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PREFIX = "extender.example/"


def pairs(pod, name):
    """The annotation "a=x,b" as {"a": "x", "b": ""}."""
    text = (pod["metadata"].get("annotations") or {}).get(PREFIX + name, "")
    return dict((part + "=").split("=")[:2] for part in text.split(",") if part)


def names_of(args):
    if args["NodeNames"] is not None:
        return args["NodeNames"]
    return [node["metadata"]["name"] for node in args["Nodes"]["items"]]


def filter_nodes(args):
    refuse, unresolvable = pairs(args["Pod"], "refuse"), pairs(args["Pod"], "unresolvable")
    left = [name for name in names_of(args) if name not in refuse and name not in unresolvable]
    result = {"FailedNodes": refuse, "FailedAndUnresolvableNodes": unresolvable}
    if args["NodeNames"] is not None:
        return dict(result, NodeNames=left)
    nodes = [node for node in args["Nodes"]["items"] if node["metadata"]["name"] in left]
    return dict(result, Nodes=dict(args["Nodes"], items=nodes))


def prioritize(args):
    scores = pairs(args["Pod"], "scores")
    return [{"Host": name, "Score": int(scores.get(name, 0))} for name in names_of(args)]


def preempt(args):
    wanted = pairs(args["Pod"], "victims")
    if args["NodeNameToMetaVictims"] is not None:
        victims = args["NodeNameToMetaVictims"]
    else:
        victims = {node: {"Pods": [{"UID": pod["metadata"]["uid"]} for pod in of["Pods"]],
                          "NumPDBViolations": of["NumPDBViolations"]}
                   for node, of in args["NodeNameToVictims"].items()}
    return {"NodeNameToMetaVictims": {node: of for node, of in victims.items() if not wanted or node in wanted}}


class Api:
    """The part of an API server that binding needs."""

    def __init__(self, options):
        url = urllib.parse.urlsplit(options.api)
        self.host = url.netloc
        self.tls = None
        if url.scheme == "https":
            self.tls = ssl.create_default_context(cafile=options.api_ca)
        self.headers = {"Content-Type": "application/json"}
        if options.api_token:
            self.headers["Authorization"] = "Bearer " + options.api_token

    def bind(self, args):
        binding = {"apiVersion": "v1", "kind": "Binding",
                   "metadata": {"name": args["PodName"], "namespace": args["PodNamespace"], "uid": args["PodUID"]},
                   "target": {"kind": "Node", "name": args["Node"]}}
        connection = (http.client.HTTPSConnection(self.host, context=self.tls) if self.tls
                      else http.client.HTTPConnection(self.host))
        connection.request("POST", "/api/v1/namespaces/%s/pods/%s/binding" % (args["PodNamespace"], args["PodName"]),
                           json.dumps(binding), self.headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return {"Error": "" if answer.status < 300 else json.loads(text)["message"]}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    log = None
    api = None
    lock = threading.Lock()

    def log_message(self, *args):
        pass

    def log_call(self, verb, args):
        if self.log:
            with self.lock:
                self.log.write(json.dumps({"verb": verb, "args": args}) + "\n")
                self.log.flush()

    def answer(self, verb, args):
        error = pairs(args["Pod"], "error") if "Pod" in args else None
        if error:
            return {"Error": next(iter(error))}
        if verb == "bind":
            return self.api.bind(args) if self.api else {"Error": "binding is not my business"}
        return {"filter": filter_nodes, "prioritize": prioritize, "preempt": preempt}[verb](args)

    def do_POST(self):
        args = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        verb = self.path.strip("/").split("/")[-1]
        self.log_call(verb, args)
        body = json.dumps(self.answer(verb, args)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--stay", action="store_true")
    for name in ("log", "cert", "key", "client-ca", "api", "api-ca", "api-token"):
        parser.add_argument("--" + name)
    options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    server.daemon_threads = True
    if options.cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.cert, options.key)
        if options.client_ca:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(options.client_ca)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    if options.log:
        Handler.log = open(options.log, "a", encoding="utf-8")
    if options.api:
        Handler.api = Api(options)
    print(server.server_address[1], flush=True)
    if options.stay:
        server.serve_forever()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


main()
