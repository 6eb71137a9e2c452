/** Counts what happens on the WebSockets. */
export interface WsMetrics {
  wsMessage(type: string): void;
  wsClosed(code: number): void;
}
