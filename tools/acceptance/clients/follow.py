"""Prints the id and the type of each event of a stream: follow.py URL"""

import json
import sys
import time

import requests
from sseclient import SSEClient

last = None
while True:
    try:
        for message in SSEClient(sys.argv[1], last_id=last):
            last = message.id or last
            # A frame without data only moves the position.
            if message.data:
                print(last, json.loads(message.data)["type"], flush=True)
    except requests.RequestException:
        # The package reconnects when a stream ends, but gives up if nobody listens then.
        time.sleep(1)
