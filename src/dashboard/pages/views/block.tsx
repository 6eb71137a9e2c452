import { formatBytes, formatCount, formatCounted, formatLarge } from '../display-format.ts';
import { AmountText, Card, Facts, HashLink, MoreButton, Show, Table, Time, Title, usePages } from '../parts.tsx';
import type { BlockReply, Page, Tx } from '../replies.ts';
import { pathTo } from '../router.ts';
import { useLoad, useShared } from '../state.ts';

const TXS = 25;

/** A block by its height or its hash, with its transactions. */
export function BlockPage({ id }: { id: string }) {
  const { chainVersion } = useShared();
  const path =
    /^\d+$/.test(id) && id.length < 64 ? `/api/block-by-height/${id}` : `/api/block/${encodeURIComponent(id)}`;
  const found = useLoad<BlockReply>(`${path}?fields=summary`, chainVersion);
  return (
    <>
      <Title>{found.value ? `Block ${formatCount(found.value.height)}` : 'Block'}</Title>
      <Show of={found}>
        {(block) => (
          <>
            <BlockFacts block={block} />
            <BlockTxs key={block.hash} hash={block.hash} />
          </>
        )}
      </Show>
    </>
  );
}

function BlockFacts({ block }: { block: BlockReply }) {
  const { height, previousHash, nextHash, confirmations, inActiveChain } = block;
  return (
    <Card title={`Hash ${block.hash}`} wide>
      <nav class="neighbours" aria-label="Neighbouring blocks">
        {previousHash && <a href={pathTo('block', previousHash)}>← {formatCount(height - 1)}</a>}
        {nextHash && <a href={pathTo('block', nextHash)}>{formatCount(height + 1)} →</a>}
      </nav>
      <Facts
        rows={[
          ['State', inActiveChain ? formatCounted(confirmations, 'confirmation') : 'not in the active chain'],
          ['Time', <Time key="time" at={block.time} />],
          ['Median time', <Time key="median" at={block.medianTime} />],
          ['Transactions', block.txCount === null ? null : formatCount(block.txCount)],
          ['Size', block.size === null ? null : formatBytes(block.size)],
          ['Weight', block.weight === null ? null : `${formatCount(block.weight)} WU`],
          ['Subsidy', <AmountText key="subsidy" of={block.subsidy} />],
          ['Fees', block.fees === null ? null : <AmountText key="fees" of={block.fees} />],
          ['Difficulty', formatLarge(block.difficulty)],
          ['Bits', <code key="bits">{block.bits}</code>],
          ['Nonce', formatCount(block.nonce)],
          ['Version', <code key="version">{block.versionHex}</code>],
          ['Merkle root', <code key="root">{block.merkleRoot}</code>],
        ]}
      />
    </Card>
  );
}

function BlockTxs({ hash }: { hash: string }) {
  const path = `/api/block/${hash}/txs?limit=${TXS}`;
  const first = useLoad<Page<Tx>>(path);
  const listing = usePages(path, first.value);
  return (
    <Card title="Transactions" wide>
      <Show of={first}>
        {() => (
          <>
            <Table
              caption="Transactions of the block"
              head={['Transaction', 'Inputs', 'Outputs', 'Amount', 'Fee', 'Size']}
            >
              {listing.items.map((tx) => (
                <tr key={tx.txid}>
                  <td>
                    <HashLink page="tx" id={tx.txid} /> {tx.isCoinbase && <span class="tag">coinbase</span>}
                  </td>
                  <td class="number">{formatCount(tx.vin.length)}</td>
                  <td class="number">{formatCount(tx.vout.length)}</td>
                  <td class="number">
                    <AmountText of={tx.valueOut} />
                  </td>
                  <td class="number">{tx.fee === null ? '–' : <AmountText of={tx.fee} />}</td>
                  <td class="number">{formatCount(tx.vsize)} vB</td>
                </tr>
              ))}
            </Table>
            <MoreButton of={listing} />
          </>
        )}
      </Show>
    </Card>
  );
}
