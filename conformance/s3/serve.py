"""moto's S3 API, one request at a time: `serve.py PORT`, on loopback.

A conditional PUT looks whether the object is there and then writes it. S3 does that as one step, and the tests of races between
creators are about just that; moto's threads do it as two, so that sometimes two creators win. With one lock around each
request it is one step here too.
"""

import sys
import threading

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

one_at_a_time = threading.Lock()
moto = DomainDispatcherApplication(create_backend_app)


def app(environ, start_response):
    with one_at_a_time:
        answer = moto(environ, start_response)
        try:
            return [b"".join(answer)]
        finally:
            if hasattr(answer, "close"):
                answer.close()


run_simple("127.0.0.1", int(sys.argv[1]), app, threaded=True)
