/** State of the sink, for status, metrics and readiness. */
export interface SinkStatus {
  /**
   * `connecting`: the database has not answered yet. `standby`: another node writes. `fill`: the first fill. `build`: the
   * look-up indexes and balances at the end of the fill. `live`: each block is written when it arrives.
   */
  readonly state: 'connecting' | 'standby' | 'fill' | 'build' | 'live';
  /** Height of the last block in the database; -1 before the first, and null before it is known. */
  readonly height: number | null;
  /** Height of the tip of the node. */
  readonly tipHeight: number;
  /** Rows written since the start. */
  readonly rows: number;
  /** Blocks removed by reorgs since the start. */
  readonly removedBlocks: number;
  /** How often the database has lacked events that it had, since the start: as a replica that took over, or a restored copy. */
  readonly rollbacks: number;
  /** Events of the mempool written since the start, and gaps between them. */
  readonly mempoolEvents: number;
  readonly mempoolGaps: number;
  /** Events of the mempool that wait to be written. */
  readonly mempoolQueue: number;
  /** The reason why the last attempt failed; null after a success. */
  readonly problem: string | null;
}

/** The state of a sink that has not connected yet. */
export const INITIAL_SINK_STATUS: SinkStatus = {
  state: 'connecting',
  height: null,
  tipHeight: -1,
  rows: 0,
  removedBlocks: 0,
  rollbacks: 0,
  mempoolEvents: 0,
  mempoolGaps: 0,
  mempoolQueue: 0,
  problem: null,
};
