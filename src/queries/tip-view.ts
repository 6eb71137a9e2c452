/** The latest committed tip; replies that read their own snapshot name that one instead. */
export interface TipView {
  readonly height: number;
  /** Display order. */
  readonly hash: string;
  readonly time: number;
}
