import Counter from 'prom-client/lib/counter';
import Gauge from 'prom-client/lib/gauge';
import type Registry from 'prom-client/lib/registry';
import type { SinkStatus } from '../../port/sink-status.ts';

/** Adds the gauges of the database that follows the chain. They are absent without one. */
export function addSinkGauges(registry: Registry, status: () => SinkStatus | null): void {
  const registers = [registry];
  const gauge = (name: string, help: string, of: (status: SinkStatus) => number | null) =>
    new Gauge({
      name: `obverse_sink_${name}`,
      help,
      registers,
      collect() {
        const now = status();
        const value = now && of(now);
        if (value === null) this.remove();
        else this.set(value);
      },
    });
  const counter = (name: string, help: string, of: (status: SinkStatus) => number) =>
    new Counter({
      name: `obverse_sink_${name}_total`,
      help,
      registers,
      collect() {
        const now = status();
        this.reset();
        if (now) this.inc(of(now));
      },
    });
  gauge('height', 'Height of the last block in the database of the sink; -1 before the first.', (now) => now.height);
  gauge('lag_blocks', 'Blocks of the node that the database of the sink does not have yet.', sinkLag);
  gauge('up', '0 while the database of the sink cannot be written or read.', ({ problem }) => (problem ? 0 : 1));
  gauge('leader', '1 while this node writes the sink, 0 while another one does.', ({ state }) =>
    state === 'standby' || state === 'connecting' ? 0 : 1,
  );
  counter('rows', 'Rows that this node has written to the sink.', ({ rows }) => rows);
  gauge('mempool_queue', 'Events of the mempool that wait to be written to the sink.', (now) => now.mempoolQueue);
  counter(
    'mempool_events',
    'Events of the mempool that this node has written to the sink.',
    (now) => now.mempoolEvents,
  );
  counter(
    'mempool_gaps',
    'Gaps among the events of the mempool that this node has written to the sink.',
    (now) => now.mempoolGaps,
  );
  counter('removed_blocks', 'Blocks that this node has removed from the sink at reorgs.', (now) => now.removedBlocks);
  counter('rollbacks', 'Times that the database of the sink lacked events that it had before.', (now) => now.rollbacks);
}

/** Returns the number of blocks that the database lacks; null while its height is not known. */
export function sinkLag({ height, tipHeight }: SinkStatus): number | null {
  return height === null ? null : Math.max(0, tipHeight - height);
}
