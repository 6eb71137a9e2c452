import { type TcpStream, tcpHandlers } from '../../../src/p2p/connections/byte-stream.ts';

/** A connection to a server of lines, and the lines that it has received. */
export interface LineClient {
  readonly number: number;
  readonly lines: string[];
  send(text: string | Uint8Array): void;
  close(): void;
}

export interface LineServer {
  readonly port: number;
  /** All connections, in order. */
  readonly clients: LineClient[];
  /** The lines of all connections, in order of arrival. */
  readonly lines: string[];
  stop(): void;
}

/** Listens on a free port of loopback, and calls `answer` for each line. */
export function lineServer(
  answer: (client: LineClient, line: string) => void,
  came: (client: LineClient) => void = () => {},
): LineServer {
  const clients: LineClient[] = [];
  const lines: string[] = [];
  const streams: TcpStream[] = [];
  const server = Bun.listen<TcpStream>({
    hostname: '127.0.0.1',
    port: 0,
    socket: tcpHandlers((stream) => {
      streams.push(stream);
      const client: LineClient = {
        number: clients.length,
        lines: [],
        send: (text) => void stream.write(typeof text === 'string' ? new TextEncoder().encode(text) : text),
        close: () => stream.close(),
      };
      clients.push(client);
      let text = '';
      stream.attach({
        data: (bytes) => {
          text += new TextDecoder('latin1').decode(bytes);
          for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
            const line = text.slice(0, end).replace(/\r$/, '');
            text = text.slice(end + 1);
            client.lines.push(line);
            lines.push(line);
            answer(client, line);
          }
        },
        drain: () => {},
        closed: () => {},
      });
      came(client);
    }),
  });
  return {
    port: server.port,
    clients,
    lines,
    stop: () => {
      server.stop(true);
      for (const stream of streams) stream.close();
    },
  };
}
