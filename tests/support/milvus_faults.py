"""A Milvus server that fails as it is told to: Milvus Lite's own answers, but for the methods with a fault."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from milvus_lite.adapter.grpc.servicer import MilvusServicer
from milvus_lite.db import MilvusLite
from pymilvus.grpc_gen import common_pb2, milvus_pb2, milvus_pb2_grpc

Fault = Callable[[grpc.ServicerContext], Any]


class Faults(grpc.ServerInterceptor):
    """`of` holds what a method does instead, by its name in the protocol, and `tokens` what callers identified as."""

    def __init__(self) -> None:
        self.uri = ""
        self.of: dict[str, Fault] = {}
        self.tokens = set[str]()

    def intercept_service(self, continuation: Any, details: grpc.HandlerCallDetails) -> Any:
        handler, method = continuation(details), details.method.rpartition("/")[2]
        self.tokens |= {value for key, value in details.invocation_metadata if key == "authorization"}
        if method not in self.of:
            return handler
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: self.of[method](context),
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )


def version(number: str) -> Fault:
    return lambda context: milvus_pb2.GetVersionResponse(status=common_pb2.Status(), version=number)


def aborts(code: grpc.StatusCode, details: str) -> Fault:
    return lambda context: context.abort(code, details)


def refuses(code: int, reason: str) -> Fault:
    """Of a method that writes."""
    return lambda context: milvus_pb2.MutationResult(status=common_pb2.Status(code=code, reason=reason))


def hangs(until: threading.Event) -> Fault:
    def wait(context: grpc.ServicerContext) -> None:
        until.wait(60)
        context.abort(grpc.StatusCode.INTERNAL, "too late")

    return wait


@contextmanager
def faulty_server(folder: Path) -> Iterator[Faults]:
    faults, database = Faults(), MilvusLite(str(folder))
    server = grpc.server(ThreadPoolExecutor(4), interceptors=[faults])
    milvus_pb2_grpc.add_MilvusServiceServicer_to_server(MilvusServicer(database), server)
    faults.uri = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield faults
    finally:
        server.stop(0).wait()
        database.close()
