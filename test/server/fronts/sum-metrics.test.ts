import { expect, test } from 'bun:test';
import { sumMetrics } from '../../../src/server/fronts/sum-metrics.ts';

const text = (requests: number, sockets: number, height: number, more = '') => `# HELP http_requests_total Requests.
# TYPE http_requests_total counter
http_requests_total{route="/a b",status="200"} ${requests}
${more}# HELP seconds Time.
# TYPE seconds histogram
seconds_bucket{le="0.5"} ${requests}
seconds_sum ${requests / 4}
# TYPE obverse_ws_connections gauge
obverse_ws_connections ${sockets}
# TYPE obverse_ws_watched gauge
obverse_ws_watched{by="connection"} ${sockets}
obverse_ws_watched{by="key"} 7
# TYPE obverse_chain_height gauge
obverse_chain_height ${height}
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 11
`;

test('counters and histograms are summed, and gauges are those of the first front', async () => {
  const summed = await sumMetrics(text(10, 2, 100), [text(5, 3, 99), text(1, 0, 98)]);
  expect(summed).toContain('http_requests_total{route="/a b",status="200"} 16\n');
  expect(summed).toContain('seconds_bucket{le="0.5"} 16\n');
  expect(summed).toContain('seconds_sum 4\n');
  expect(summed).toContain('obverse_ws_connections 5\n');
  expect(summed).toContain('obverse_ws_watched{by="connection"} 5\nobverse_ws_watched{by="key"} 7\n');
  expect(summed).toContain('obverse_chain_height 100\n');
  expect(summed).toContain('process_cpu_seconds_total 11\n');
  expect(summed.match(/# TYPE/g)!.length).toBe(6);
});

test('a series that only another front has stands in its family', async () => {
  const more = 'http_requests_total{route="/b",status="404"} 3\n';
  const summed = await sumMetrics(text(10, 2, 100), [text(5, 3, 99, more)]);
  expect(summed).toContain(`status="200"} 15\n${more}# HELP seconds`);
});
