# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""OTLP in JSON by its rules (OTLP specification, "JSON Protobuf Encoding"; opentelemetry-proto, trace.proto)."""

import re

HEX = re.compile(r'^[0-9a-f]+$')
NONE = ('0' * 32, '0' * 16)
TRACE = {'resourceSpans'}
RESOURCE_SPANS = {'resource', 'scopeSpans', 'schemaUrl'}
SCOPE_SPANS = {'scope', 'spans', 'schemaUrl'}
SPAN = {'traceId', 'spanId', 'traceState', 'parentSpanId', 'name', 'kind', 'startTimeUnixNano', 'endTimeUnixNano', 'attributes',
        'droppedAttributesCount', 'events', 'droppedEventsCount', 'links', 'droppedLinksCount', 'status', 'flags'}
LINK = {'traceId', 'spanId', 'traceState', 'attributes', 'droppedAttributesCount', 'flags'}


def attributes(list_, problems):
    out = {}
    for a in list_:
        if set(a) != {'key', 'value'} or len(a['value']) != 1 or a['key'] in out:
            problems.append('attribute %s' % a)
            continue
        (kind, value), = a['value'].items()
        if kind == 'intValue':
            if not isinstance(value, str) or not re.match(r'^-?\d+$', value):
                problems.append('an integer is a string: %s' % a)
            value = int(value)
        elif kind != 'stringValue' or not isinstance(value, str):
            problems.append('attribute %s' % a)
        out[a['key']] = value
    return out


def context(x, problems, none=False):
    if not (isinstance(x['traceId'], str) and len(x['traceId']) == 32 and HEX.match(x['traceId']) and len(x['spanId']) == 16 and
            HEX.match(x['spanId'])) or (not none and (x['traceId'] == NONE[0] or x['spanId'] == NONE[1])):
        problems.append('ids %s %s' % (x['traceId'], x['spanId']))
    return x['traceId'], x['spanId']


def time(text, problems):
    if not isinstance(text, str) or not text.isdigit():
        problems.append('a time is a decimal string: %r' % text)
        return 0
    return int(text)


def read(doc):
    """Spans by id, and problems."""
    problems, spans = [], {}
    if set(doc) != TRACE:
        problems.append('keys %s' % set(doc))
    for rs in doc['resourceSpans']:
        if not set(rs) <= RESOURCE_SPANS:
            problems.append('keys %s' % set(rs))
        resource = attributes(rs['resource']['attributes'], problems)
        if not resource.get('service.name'):
            problems.append('a resource without service.name')
        for ss in rs['scopeSpans']:
            if not set(ss) <= SCOPE_SPANS or not ss['scope']['name']:
                problems.append('scope')
            for s in ss['spans']:
                if not set(s) <= SPAN or not s['name'] or s['kind'] != 1 or not set(s['status']) <= {'code', 'message'}:
                    problems.append('span %s' % {k: s[k] for k in s if k != 'links'})
                key = context(s, problems)
                if key in spans:
                    problems.append('two spans of one id')
                links = []
                for link in s.get('links', []):
                    if not set(link) <= LINK:
                        problems.append('keys %s' % set(link))
                    links.append((context(link, problems, True), attributes(link['attributes'], problems)))
                spans[key] = dict(name=s['name'], parent=s.get('parentSpanId'), resource=resource, links=links,
                                  start=time(s['startTimeUnixNano'], problems), end=time(s['endTimeUnixNano'], problems),
                                  attributes=attributes(s['attributes'], problems), status=s['status'].get('code', 0))
    for (trace, _), s in spans.items():
        if s['end'] < s['start'] or (s['parent'] and (trace, s['parent']) not in spans):
            problems.append('times, or parent, of %s' % s['name'])
        for target, a in s['links']:
            if target != NONE and target not in spans:
                problems.append('a link to a span that is not there')
            if a == {'wcbpf.link.purpose': 'parent'}:
                continue
            if a.get('dagger.io/link.purpose') != 'wait' or not a['wcprof.wait.start_unix_ns'].isdigit() or \
                    not a['wcprof.wait.end_unix_ns'].isdigit() or 'wcprof.wait.reason' not in a:
                problems.append('link %s' % a)
    return spans, problems
