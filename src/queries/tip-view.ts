/** The latest committed tip. Replies that read a snapshot name the tip of that snapshot instead. */
export interface TipView {
  readonly height: number;
  /** Display order. */
  readonly hash: string;
  readonly time: number;
}
