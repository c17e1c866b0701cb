# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""
The rules of a Firefox profile in the processed format, version 49, from the front-end's types (src/types/profile.js) and
from what scripts for samply's profiles look for; and such a script, in small.
"""

import gzip
import json

COLORS = {'transparent', 'purple', 'green', 'orange', 'yellow', 'lightblue', 'blue', 'brown', 'magenta', 'red', 'lightred',
          'darkgrey', 'grey'}
FORMATS = {'string', 'duration', 'time', 'integer', 'unique-string', 'url', 'bytes'}


def load(path):
    with gzip.open(path, 'rt', encoding='utf-8') as f:
        return json.load(f)


class Check:
    def __init__(self, profile):
        self.p = profile
        self.problems = []
        self.meta()
        self.libs()
        for t in profile['threads']:
            self.thread(t)

    def need(self, condition, text):
        if not condition and len(self.problems) < 20:
            self.problems.append(text)

    def meta(self):
        m = self.p['meta']
        self.need(m['preprocessedProfileVersion'] == 49 and m['version'] == 24, 'versions')
        self.need(isinstance(m['interval'], (int, float)) and m['interval'] > 0, 'interval')
        self.need(m['sampleUnits'] == {'time': 'ms', 'eventDelay': 'ms', 'threadCPUDelta': '\u00b5s'}, 'sampleUnits')
        for c in m['categories']:
            self.need(c['color'] in COLORS and c['subcategories'][0] == 'Other', 'category %s' % c)
        self.need(m['categories'][0]['color'] == 'grey', 'the default category is grey')
        for s in m['markerSchema']:
            self.need(set(s['display']) <= {'marker-chart', 'marker-table', 'timeline-overview'}, 'display of ' + s['name'])
            self.need(all(f['format'] in FORMATS for f in s['data']), 'fields of ' + s['name'])
        self.schemas = {s['name']: {f['key']: f['format'] for f in s['data']} for s in m['markerSchema']}
        self.need(all(m[k] is not None for k in ('startTime', 'product', 'processType', 'extensions', 'symbolicated')), 'meta')

    def libs(self):
        for lib in self.p['libs']:
            for key in ('name', 'path', 'debugName', 'debugPath', 'breakpadId', 'codeId', 'arch'):
                self.need(key in lib, 'lib without ' + key)
            self.need(len(lib['breakpadId']) == 33 and int(lib['breakpadId'], 16) >= 0, 'breakpadId ' + lib['breakpadId'])

    def table(self, t, name, columns):
        table = t[name]
        for column in columns:
            self.need(len(table[column]) == table['length'], '%s.%s has another length' % (name, column))
        return table

    def index(self, values, n, text, none=None):
        self.need(all(v == none or (isinstance(v, int) and 0 <= v < n) for v in values), text)

    def thread(self, t):
        strings = t['stringArray']
        f = self.table(t, 'funcTable', ('name', 'isJS', 'relevantForJS', 'resource', 'fileName', 'lineNumber', 'columnNumber'))
        r = self.table(t, 'resourceTable', ('lib', 'name', 'host', 'type'))
        fr = self.table(t, 'frameTable', ('address', 'inlineDepth', 'category', 'subcategory', 'func', 'nativeSymbol', 'innerWindowID',
                                          'implementation', 'line', 'column'))
        st = self.table(t, 'stackTable', ('frame', 'prefix', 'category', 'subcategory'))
        s = self.table(t, 'samples', ('stack', 'time', 'weight', 'threadCPUDelta'))
        m = self.table(t, 'markers', ('category', 'data', 'startTime', 'endTime', 'name', 'phase'))
        categories = len(self.p['meta']['categories'])
        self.index(f['name'], len(strings), 'funcTable.name')
        self.index(f['resource'], r['length'], 'funcTable.resource', -1)
        self.index(r['lib'], len(self.p['libs']), 'resourceTable.lib')
        self.index(r['name'], len(strings), 'resourceTable.name')
        self.index(fr['func'], f['length'], 'frameTable.func')
        self.index(fr['category'], categories, 'frameTable.category')
        self.index(st['frame'], fr['length'], 'stackTable.frame')
        self.index(s['stack'], st['length'], 'samples.stack')
        self.index(m['name'], len(strings), 'markers.name')
        self.index(m['category'], categories, 'markers.category')
        for i, prefix in enumerate(st['prefix']):
            self.need(prefix is None or 0 <= prefix < i, 'a prefix comes before what it is the prefix of')
            self.need(st['category'][i] == fr['category'][st['frame'][i]], 'stackTable.category')
        for i in range(fr['length']):
            self.need(fr['address'][i] == -1 or f['resource'][fr['func'][i]] >= 0, 'an address without a library')
        self.need(s['weightType'] == 'tracing-ms', 'weightType')
        self.need(s['time'] == sorted(s['time']), 'samples are in the order of time')
        self.need(all(w > 0 for w in s['weight']), 'weights')
        self.need(isinstance(t['pid'], str) and isinstance(t['tid'], str) and isinstance(t['isMainThread'], bool), 'pid, tid')
        for i in range(m['length']):
            self.need(m['phase'][i] == 1 and m['startTime'][i] <= m['endTime'][i], 'marker times')
            schema = self.schemas.get(m['data'][i]['type'])
            self.need(schema is not None and all(k == 'type' or k in schema for k in m['data'][i]), 'marker %s' % m['data'][i])
        self.functions(t, f, r)

    def functions(self, t, f, r):
        """Two libraries never share a function, and what has no name has its address."""
        seen = set()
        for i in range(f['length']):
            key = (f['name'][i], f['resource'][i])
            self.need(key not in seen, 'a function twice')
            seen.add(key)
        addresses = {}
        for i in range(t['frameTable']['length']):
            addresses.setdefault(t['frameTable']['func'][i], set()).add(t['frameTable']['address'][i])
        for func, found in addresses.items():
            name = t['stringArray'][f['name'][func]]
            if name.startswith('0x') and all(c in '0123456789abcdef' for c in name[2:]) and f['resource'][func] >= 0 and name != '0x10':
                self.need(found == {int(name, 16)}, '%s has the addresses %s' % (name, found))


def weights(profile):
    """ns by (pid, tid, category name)."""
    names = [c['name'] for c in profile['meta']['categories']]
    out = {}
    for t in profile['threads']:
        for stack, weight in zip(t['samples']['stack'], t['samples']['weight']):
            key = (t['pid'], t['tid'], names[t['stackTable']['category'][stack]])
            out[key] = out.get(key, 0) + round(weight * 1e6)
    return out


def top_self(profile, column):
    """As the scripts do: by the innermost function of each sample, weighed by a column."""
    out = {}
    for t in profile['threads']:
        for i, stack in enumerate(t['samples']['stack']):
            func = t['frameTable']['func'][t['stackTable']['frame'][stack]]
            resource = t['funcTable']['resource'][func]
            lib = profile['libs'][t['resourceTable']['lib'][resource]]['name'] if resource >= 0 else ''
            key = (lib, t['stringArray'][t['funcTable']['name'][func]])
            out[key] = out.get(key, 0) + t['samples'][column][i]
    return out
