/** Counters of the WebSocket connections. */
export interface WsMetrics {
  wsMessage(type: string): void;
  wsClosed(code: number): void;
}
