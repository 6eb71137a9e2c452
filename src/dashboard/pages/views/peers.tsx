import { useState } from 'preact/hooks';
import { formatBytes, formatCount } from '../display-format.ts';
import { Age, Card, Show, Table, Title } from '../parts.tsx';
import type { PeerReply } from '../replies.ts';
import { useLoad, useShared } from '../state.ts';

const EVERY_SECONDS = 5;

const COLUMNS = {
  id: ['Id', ({ id }: PeerReply) => id],
  address: ['Address', ({ address }: PeerReply) => address],
  connection: ['Connection', ({ connectionType }: PeerReply) => connectionType],
  agent: ['User agent', ({ userAgent }: PeerReply) => userAgent],
  blocks: ['Blocks', ({ syncedBlocks, startingHeight }: PeerReply) => Math.max(syncedBlocks, startingHeight)],
  ping: ['Ping', ({ pingMs }: PeerReply) => pingMs ?? Number.POSITIVE_INFINITY],
  sent: ['Sent', ({ bytesSent }: PeerReply) => bytesSent],
  received: ['Received', ({ bytesRecv }: PeerReply) => bytesRecv],
  since: ['Connected', ({ connectedAt }: PeerReply) => -connectedAt],
} as const;
type Column = keyof typeof COLUMNS;

/** The connected peers in a table that each column sorts. */
export function PeersPage() {
  const { now } = useShared();
  const peers = useLoad<{ readonly items: readonly PeerReply[] }>('/api/peers', Math.floor(now / EVERY_SECONDS));
  const [sort, setSort] = useState<{ column: Column; isUp: boolean }>({ column: 'id', isUp: true });
  const sortBy = (column: Column) => setSort({ column, isUp: sort.column === column ? !sort.isUp : true });
  const head = (Object.keys(COLUMNS) as Column[]).map((column) => (
    <button key={column} type="button" class="sort" onClick={() => sortBy(column)}>
      {COLUMNS[column][0]}
      <span aria-hidden="true">{sort.column === column ? (sort.isUp ? ' ▲' : ' ▼') : ''}</span>
      {sort.column === column && <span class="hidden">{sort.isUp ? ', ascending' : ', descending'}</span>}
    </button>
  ));
  return (
    <>
      <Title>Peers</Title>
      <Card title="Connected peers" wide>
        <Show of={peers}>
          {({ items }) =>
            items.length === 0 ? (
              <p class="waiting">There is no connected peer.</p>
            ) : (
              <Table caption="Connected peers" head={head}>
                {sorted(items, sort.column, sort.isUp).map((peer) => (
                  <PeerRow key={peer.id} peer={peer} />
                ))}
              </Table>
            )
          }
        </Show>
      </Card>
    </>
  );
}

function PeerRow({ peer }: { peer: PeerReply }) {
  const { syncedBlocks, startingHeight, pingMs } = peer;
  return (
    <tr>
      <td class="number">{peer.id}</td>
      <td>{peer.address}</td>
      <td>
        {peer.connectionType.replaceAll('_', ' ')}, {peer.transport}
      </td>
      <td>{peer.userAgent}</td>
      <td class="number">{formatCount(Math.max(syncedBlocks, startingHeight))}</td>
      <td class="number">{pingMs === null ? '–' : `${Math.round(pingMs)} ms`}</td>
      <td class="number">{formatBytes(peer.bytesSent)}</td>
      <td class="number">{formatBytes(peer.bytesRecv)}</td>
      <td>
        <Age of={peer.connectedAt} />
      </td>
    </tr>
  );
}

function sorted(peers: readonly PeerReply[], column: Column, isUp: boolean): readonly PeerReply[] {
  const [, cellOf] = COLUMNS[column];
  const direction = isUp ? 1 : -1;
  return [...peers].sort((a, b) => {
    const [left, right] = [cellOf(a), cellOf(b)];
    return left === right ? a.id - b.id : left < right ? -direction : direction;
  });
}
