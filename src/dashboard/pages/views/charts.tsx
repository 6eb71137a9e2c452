import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { formatLarge, formatTime } from '../display-format.ts';
import { Card, Show, Table, Title } from '../parts.tsx';
import type { ChartReply } from '../replies.ts';
import { useLoad, useShared } from '../state.ts';
import { useColours } from '../theme.tsx';

const SERIES = {
  difficulty: 'Difficulty',
  hashrate: 'Hashrate',
  blockInterval: 'Time between blocks',
  blockSize: 'Block size',
  blockWeight: 'Block weight',
  txCount: 'Transactions of a block',
  fees: 'Fees of a block',
  feeRate: 'Fee rate of blocks',
  supply: 'Supply',
  mempoolCount: 'Transactions in the mempool',
  mempoolVsize: 'Virtual size of the mempool',
  peers: 'Peers',
} as const;
const RANGES = { '24h': 'a day', '7d': '7 days', '30d': '30 days', '1y': 'a year', all: 'all' } as const;
const POINTS = 200;
const HEIGHT = 320;

const MINUTE = 60;
const DAY = 86_400;
const YEAR = 365 * DAY;
/**
 * How uPlot labels the axis of time: from which distance of the ticks in seconds on, the label, and what stands beneath it
 * where the year, the day or the hour changes.
 */
const TIME_LABELS = [
  [YEAR, '{YYYY}', null, null, null, null, null, null, 1],
  [28 * DAY, '{YYYY}-{MM}', null, null, null, null, null, null, 1],
  [DAY, '{MM}-{DD}', '\n{YYYY}', null, null, null, null, null, 1],
  [MINUTE, '{HH}:{mm}', '\n{YYYY}-{MM}-{DD}', null, '\n{MM}-{DD}', null, null, null, 1],
];

/** A series over time, as a picture and as a table. */
export function ChartsPage() {
  const { chainVersion } = useShared();
  const [series, setSeries] = useState<keyof typeof SERIES>('difficulty');
  const [range, setRange] = useState<keyof typeof RANGES>('all');
  const chart = useLoad<ChartReply>(`/api/chart/${series}?range=${range}&points=${POINTS}`, chainVersion);
  return (
    <>
      <Title>Charts</Title>
      <div class="choices">
        <label>
          Series{' '}
          <select
            value={series}
            onChange={({ currentTarget }) => setSeries(currentTarget.value as keyof typeof SERIES)}
          >
            {Object.entries(SERIES).map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label>
          Time{' '}
          <select value={range} onChange={({ currentTarget }) => setRange(currentTarget.value as keyof typeof RANGES)}>
            {Object.entries(RANGES).map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Card title={SERIES[series]} wide>
        <Show of={chart}>
          {({ points, unit }) =>
            points.length === 0 ? (
              <p class="waiting">There are no data for this time.</p>
            ) : (
              <>
                <Plot points={points} label={`${SERIES[series]}, ${unit}`} />
                <details>
                  <summary>The same as a table</summary>
                  <Table caption={SERIES[series]} head={['Time', unit]}>
                    {points.map(([time, value]) => (
                      <tr key={time}>
                        <td>{formatTime(time)}</td>
                        <td class="number">{formatLarge(value)}</td>
                      </tr>
                    ))}
                  </Table>
                </details>
              </>
            )
          }
        </Show>
      </Card>
    </>
  );
}

function Plot({ points, label }: { points: ChartReply['points']; label: string }) {
  const host = useRef<HTMLDivElement>(null);
  const colours = useColours();
  useEffect(() => {
    const element = host.current!;
    const plot = new uPlot(options(element, label), columnsOf(points), element);
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
    // A picture keeps the colours that it was drawn with.
  }, [points, label, colours]);
  return <div class="plot" ref={host} role="img" aria-label={`${label}, over time; the table below has the values`} />;
}

function options(element: HTMLElement, label: string): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour('--quiet'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line') },
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    series: [
      { value: (_, time) => (time === null ? '–' : formatTime(time)) },
      { label, stroke: colour('--accent'), width: 2, value: (_, value) => (value === null ? '–' : formatLarge(value)) },
    ],
    axes: [
      { ...axis, values: TIME_LABELS as uPlot.Axis.Values },
      { ...axis, size: 70, values: (_, values) => values.map(formatLarge) },
    ],
  };
}

/** The times of blocks need not grow: the picture shows the points by time. */
function columnsOf(points: ChartReply['points']): [number[], number[]] {
  const sorted = [...points].sort(([a], [b]) => a - b);
  return [sorted.map(([time]) => time), sorted.map(([, value]) => value)];
}
