import { expect, test } from 'bun:test';
import { DurationHistogram } from '../../src/server/ops/durations.ts';
import { BEARER, startTestApi } from '../lib/api-fixture.ts';

test('buckets are summed up, and labels are escaped', () => {
  const histogram = new DurationHistogram('x_seconds', 'Help.');
  const series = histogram.add({ a: 'q"\\\n', b: '2' });
  for (const seconds of [0.0005, 0.001, 0.002, 0.3, 60]) series.observe(seconds);
  const labels = 'a="q\\"\\\\\\n",b="2"';
  const lines = histogram.text().trimEnd().split('\n');
  expect(lines.slice(0, 4)).toEqual([
    '# HELP x_seconds Help.',
    '# TYPE x_seconds histogram',
    `x_seconds_bucket{le="0.001",${labels}} 2`,
    `x_seconds_bucket{le="0.0025",${labels}} 3`,
  ]);
  expect(lines.slice(-5)).toEqual([
    `x_seconds_bucket{le="5",${labels}} 4`,
    `x_seconds_bucket{le="10",${labels}} 4`,
    `x_seconds_bucket{le="+Inf",${labels}} 5`,
    `x_seconds_sum{${labels}} ${0.0005 + 0.001 + 0.002 + 0.3 + 60}`,
    `x_seconds_count{${labels}} 5`,
  ]);
});

// The rules of the text format: HELP and TYPE once and before the samples, each sample once, all of a metric together.
test('the page keeps to the text format', async () => {
  await using it = startTestApi();
  for (const path of ['/healthz', '/readyz', '/nothing', '/api/info', '/ws', '/docs']) await it.get(path);
  const text = await (await it.get('/metrics', { headers: BEARER })).text();
  expect(text).toEndWith('\n');
  const types = new Map<string, string>();
  const samples = new Set<string>();
  let current = '';
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const [, kind, name, rest] = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/.exec(line) ?? [];
    if (kind === 'TYPE') {
      expect(types.has(name!)).toBe(false);
      expect(['counter', 'gauge', 'histogram', 'summary']).toContain(rest!);
      types.set(name!, rest!);
      current = name!;
    }
    if (kind) continue;
    const [, series, metric] =
      /^(([a-zA-Z_:][\w:]*)(?:\{(?:\w+="(?:[^"\\]|\\.)*",?)*\})?) (?:[-+.e\d]+|NaN|\+Inf)$/.exec(line) ?? ['', line];
    const base = types.get(current) === 'histogram' ? metric?.replace(/_(?:bucket|sum|count)$/, '') : metric;
    expect([line, base]).toEqual([line, current]);
    expect(samples.has(series!)).toBe(false);
    samples.add(series!);
  }
  expect(types.get('http_requests_total')).toBe('counter');
  expect(types.get('http_request_duration_seconds')).toBe('histogram');
});
