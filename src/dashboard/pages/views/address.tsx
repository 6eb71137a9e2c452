import { formatCount } from '../display-format.ts';
import { AmountText, Card, Facts, HashLink, MoreButton, Show, Table, Time, Title, usePages } from '../parts.tsx';
import type { AddressInfo, AddressTx, Page } from '../replies.ts';
import { useLoad, useShared } from '../state.ts';

const TXS = 25;

/** An address with its balance and its history. */
export function AddressPage({ address }: { address: string }) {
  const { chainVersion, mempoolVersion } = useShared();
  const version = `${chainVersion}.${mempoolVersion}`;
  const path = `/api/address/${encodeURIComponent(address)}`;
  const info = useLoad<AddressInfo>(path, version);
  return (
    <>
      <Title>Address</Title>
      <Show of={info}>
        {(found) => (
          <>
            <AddressFacts of={found} />
            <History path={`${path}/txs?limit=${TXS}`} version={version} />
          </>
        )}
      </Show>
    </>
  );
}

function AddressFacts({ of }: { of: AddressInfo }) {
  const { txCount, mempoolTxCount } = of;
  return (
    <Card title={of.address} wide>
      <p class="figure">
        <AmountText of={of.total} />
      </p>
      <Facts
        rows={[
          ['Confirmed', <AmountText key="confirmed" of={of.confirmed} />],
          ['Unconfirmed', <AmountText key="unconfirmed" of={of.unconfirmed} signed />],
          ['Immature', of.immature === 0 ? null : <AmountText key="immature" of={of.immature} />],
          ['Received', <AmountText key="received" of={of.received} />],
          ['Sent', <AmountText key="sent" of={of.sent} />],
          ['Transactions', `${formatCount(txCount)}${mempoolTxCount > 0 ? ` and ${mempoolTxCount} unconfirmed` : ''}`],
          ['Unspent outputs', formatCount(of.utxoCount)],
          ['Type', of.type.replaceAll('_', ' ')],
        ]}
      />
    </Card>
  );
}

function History({ path, version }: { path: string; version: string }) {
  const first = useLoad<Page<AddressTx>>(path, version);
  const listing = usePages(path, first.value);
  return (
    <Card title="History" wide>
      <Show of={first}>
        {() =>
          listing.items.length === 0 ? (
            <p class="waiting">No transaction of this address is known.</p>
          ) : (
            <>
              <Table caption="History of the address" head={['Transaction', 'Time', 'Height', 'Change']}>
                {listing.items.map(({ txid, time, status, net }) => (
                  <tr key={txid}>
                    <td>
                      <HashLink page="tx" id={txid} />
                    </td>
                    <td>
                      <Time at={time} />
                    </td>
                    <td class="number">
                      {status.blockHeight === null ? 'unconfirmed' : formatCount(status.blockHeight)}
                    </td>
                    <td class="number">
                      <AmountText of={net} signed />
                    </td>
                  </tr>
                ))}
              </Table>
              <MoreButton of={listing} />
            </>
          )
        }
      </Show>
    </Card>
  );
}
