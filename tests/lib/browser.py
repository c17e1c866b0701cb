# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""A headless Chromium, spoken to by its DevTools protocol over a pipe: no library, no port."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']


def find():
    """The path of a Chromium, or None."""
    for name in NAMES:
        path = shutil.which(name)
        if path:
            return path
    return None


class Failed(Exception):
    pass


class Browser:
    def __init__(self, width=1400, height=900, script=True):
        self.folder = tempfile.mkdtemp(prefix='wcbpf-browser-')
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        # Its protocol is spoken on 3 and 4; the shell puts our ends there, whatever their numbers are.
        command = ['sh', '-c', 'exec "$@" 3<&%d 4>&%d' % (to_read, to_write), 'sh', find(), '--headless',
                   '--remote-debugging-pipe', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--no-first-run',
                   '--disable-dev-shm-usage', '--window-size=%d,%d' % (width, height), '--user-data-dir=' + self.folder,
                   'about:blank']
        self.log = open(os.path.join(self.folder, 'log'), 'wb')
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        pass_fds=(to_read, to_write))
        os.close(to_read)
        os.close(to_write)
        self.buffer = b''
        self.number = 0
        self.events = []
        self.session = None
        target = [t for t in self.call('Target.getTargets')['targetInfos'] if t['type'] == 'page'][0]
        self.session = self.call('Target.attachToTarget', targetId=target['targetId'], flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')
        if not script:
            self.call('Emulation.setScriptExecutionDisabled', value=True)
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)

    def receive(self, seconds):
        """The next message, or None when there is none in time."""
        until = time.monotonic() + seconds
        while b'\0' not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.back], [], [], left)[0]:
                return None
            piece = os.read(self.back, 1 << 20)
            if not piece:
                raise Failed('the browser has ended: ' + open(self.log.name, errors='replace').read()[-500:])
            self.buffer += piece
        message, _, self.buffer = self.buffer.partition(b'\0')
        return json.loads(message)

    def call(self, method, seconds=60, **params):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.to, json.dumps(message).encode() + b'\0')
        while True:
            answer = self.receive(seconds)
            if answer is None:
                raise Failed('%s: no answer in %d s' % (method, seconds))
            if answer.get('id') == self.number:
                if 'error' in answer:
                    raise Failed('%s: %s' % (method, answer['error']['message']))
                return answer['result']
            if 'method' in answer:
                self.events.append(answer)

    def open(self, path, fragment='', seconds=60):
        self.events = []
        self.call('Page.navigate', url='file://' + os.path.abspath(path) + fragment)
        until = time.monotonic() + seconds
        while not any(e['method'] == 'Page.loadEventFired' for e in self.events):
            message = self.receive(until - time.monotonic())
            if message is None:
                raise Failed('%s did not load in %d s' % (path, seconds))
            self.events.append(message)

    def complaints(self):
        """What the page said on its console, exceptions, and all that it wanted to load beside itself."""
        out = []
        for e in self.events:
            p = e.get('params', {})
            if e['method'] == 'Runtime.exceptionThrown':
                out.append(p['exceptionDetails'].get('exception', {}).get('description', p['exceptionDetails']['text']))
            elif e['method'] == 'Runtime.consoleAPICalled':
                out.append('console.%s: %s' % (p['type'], p['args']))
            elif e['method'] == 'Log.entryAdded':
                out.append('%s: %s' % (p['entry']['level'], p['entry']['text']))
            elif e['method'] == 'Network.requestWillBeSent' and p.get('type') != 'Document':
                out.append('request for ' + p['request']['url'])
        return out

    def evaluate(self, script, seconds=60):
        """The value of a script; a promise's when it is there."""
        answer = self.call('Runtime.evaluate', seconds, expression=script, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in answer:
            details = answer['exceptionDetails']
            raise Failed(details.get('exception', {}).get('description', details['text']))
        return answer['result'].get('value')

    def mouse(self, kind, x, y, button='left', clicks=1, modifiers=0):
        self.call('Input.dispatchMouseEvent', type='mouse' + kind, x=x, y=y, button=button, clickCount=clicks,
                  modifiers=modifiers)

    def click(self, x, y):
        self.mouse('Pressed', x, y)
        self.mouse('Released', x, y)

    def key(self, key):
        self.call('Input.dispatchKeyEvent', type='keyDown', key=key, text=key if len(key) == 1 else '')
        self.call('Input.dispatchKeyEvent', type='keyUp', key=key)

    def screenshot(self, path):
        with open(path, 'wb') as f:
            f.write(base64.b64decode(self.call('Page.captureScreenshot')['data']))

    def close(self):
        try:
            self.session = None
            self.call('Browser.close', 10)
        except (Failed, OSError):
            self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.back)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()
