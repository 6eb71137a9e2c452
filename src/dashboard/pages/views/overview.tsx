import { useRef } from 'preact/hooks';
import { formatCount, formatCounted, formatFeeRate, formatLarge, formatSpan } from '../display-format.ts';
import { Age, AmountText, Card, Facts, HashLink, Show, Table, Title } from '../parts.tsx';
import type { BlockReply, ChartReply, Fees, NodeInfo, Page, Readyz } from '../replies.ts';
import { pathTo } from '../router.ts';
import { useLoad, useShared } from '../state.ts';
import { BlockRow } from './block-row.tsx';
import { ProjectedBlocks } from './projected-blocks.tsx';

const READY_EVERY_SECONDS = 10;
const MEASURED_SECONDS = 15;

/** The state of the node and of the chain, and the newest blocks. */
export function OverviewPage() {
  const { chainVersion, mempoolVersion, now } = useShared();
  const info = useLoad<NodeInfo>('/api/info', `${chainVersion}.${Math.floor(now / READY_EVERY_SECONDS)}`);
  const blocks = useLoad<Page<BlockReply>>('/api/blocks?limit=10', chainVersion);
  const fees = useLoad<Fees>('/api/fees', mempoolVersion);
  return (
    <>
      <Title>Overview</Title>
      <Show of={info}>
        {(node) => (
          <div class="cards">
            <TipCard node={node} />
            <SyncCard node={node} />
            <ChainCard node={node} />
            <ReadinessCard />
          </div>
        )}
      </Show>
      <Card title="Coming blocks" wide>
        <ProjectedBlocks />
        <Show of={fees}>
          {({ fastest, hour, economy }) => (
            <p class="note">
              Fee rates: next block {formatFeeRate(fastest)}, an hour {formatFeeRate(hour)}, a day{' '}
              {formatFeeRate(economy)} sat/vB
            </p>
          )}
        </Show>
      </Card>
      <Card title="Newest blocks" wide>
        <Show of={blocks}>
          {({ items }) => (
            <Table caption="Newest blocks" head={['Height', 'Hash', 'Age', 'Transactions', 'Size', 'Fees']}>
              {items.map((block) => (
                <BlockRow key={block.hash} block={block} />
              ))}
            </Table>
          )}
        </Show>
      </Card>
    </>
  );
}

function TipCard({ node }: { node: NodeInfo }) {
  return (
    <Card title="Tip">
      <p class="figure">
        <a href={pathTo('block', node.bestBlockHash)} data-tip-height={node.height} aria-live="polite">
          {formatCount(node.height)}
        </a>
      </p>
      <Facts
        rows={[
          ['Hash', <HashLink key="hash" page="block" id={node.bestBlockHash} />],
          ['Age', <Age key="age" of={node.time} />],
          ['Network', node.network],
        ]}
      />
      {node.warnings.map((warning) => (
        <p key={warning} class="failure" role="alert">
          {warning}
        </p>
      ))}
    </Card>
  );
}

function SyncCard({ node }: { node: NodeInfo }) {
  const percent = (100 * node.verificationProgress).toFixed(node.synced ? 0 : 2);
  return (
    <Card title="Synchronization">
      <p class="figure">{node.synced ? 'Synchronized' : `${percent} %`}</p>
      {!node.synced && (
        <progress max={1} value={node.verificationProgress} aria-label="Verified part of the chain">
          {percent} %
        </progress>
      )}
      <Facts
        rows={[
          ['Headers', formatCount(node.headers)],
          ['Time left', node.synced ? null : <TimeLeft key="left" node={node} />],
          ['Peers', `${node.peers} (${node.peersInbound} in, ${node.peersOutbound} out)`],
          ['Mempool', formatCounted(node.mempoolCount, 'transaction')],
          ['Running for', formatSpan(node.uptime)],
          ['Version', node.version],
        ]}
      />
    </Card>
  );
}

/** The time left at the speed since this page was opened: a node may have been started anew amid its synchronization. */
function TimeLeft({ node: { verificationProgress: done } }: { node: NodeInfo }) {
  const { now } = useShared();
  const first = useRef({ done, at: now });
  const seconds = now - first.current.at;
  const gained = done - first.current.done;
  if (seconds < MEASURED_SECONDS || gained <= 0) return <>is being measured</>;
  return <>about {formatSpan((seconds * (1 - done)) / gained)}</>;
}

function ChainCard({ node: { difficulty, pruned } }: { node: NodeInfo }) {
  const { chainVersion } = useShared();
  const hashrate = useLoad<ChartReply>('/api/chart/hashrate?range=7d&points=1', chainVersion);
  const supply = useLoad<ChartReply>('/api/chart/supply?range=24h&points=1', chainVersion);
  const rate = hashrate.value?.points.at(-1)?.[1];
  const issued = supply.value?.points.at(-1)?.[1];
  return (
    <Card title="Chain">
      <p class="figure">{formatLarge(difficulty)}</p>
      <Facts
        rows={[
          ['Measure', 'difficulty'],
          ['Hashrate', rate === undefined ? 'unknown' : `${formatLarge(rate)}H/s, mean of 7 days`],
          ['Supply', issued === undefined ? 'unknown' : <AmountText key="supply" of={issued} />],
          ['Blocks', pruned ? 'pruned' : 'all stored'],
        ]}
      />
    </Card>
  );
}

function ReadinessCard() {
  const { now } = useShared();
  const ready = useLoad<Readyz>('/readyz', Math.floor(now / READY_EVERY_SECONDS));
  return (
    <Card title="Readiness">
      <Show of={ready}>
        {({ status, checks }) => (
          <>
            <p class="figure">{status === 'ok' ? 'Ready' : 'Not ready'}</p>
            <ul class="checks">
              {Object.entries(checks).map(([name, check]) => (
                <li key={name} class={check.status === 'ok' ? 'good' : 'bad'}>
                  <span aria-hidden="true">{check.status === 'ok' ? '✓' : '✗'}</span> {name}
                  {check.status !== 'ok' && `: ${check.message ?? check.status}`}
                </li>
              ))}
            </ul>
          </>
        )}
      </Show>
    </Card>
  );
}
