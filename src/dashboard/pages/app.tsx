import { useEffect, useState } from 'preact/hooks';
import { ApiFailure, getSession, logOut, onSessionEnd, type Session } from './api.ts';
import { Layout } from './layout.tsx';
import { Live, type LiveMessage, type LiveState } from './live.ts';
import { paced } from './pace.ts';
import type { ComingBlock } from './replies.ts';
import { routeOf, usePath } from './router.ts';
import { mayHaveSession, rememberSession } from './session-hint.ts';
import { type Shared, SharedContext } from './state.ts';
import { AddressPage } from './views/address.tsx';
import { BlockPage } from './views/block.tsx';
import { ChartsPage } from './views/charts.tsx';
import { KeysPage } from './views/keys.tsx';
import { LoginPage } from './views/login.tsx';
import { MempoolPage } from './views/mempool.tsx';
import { OverviewPage } from './views/overview.tsx';
import { PeersPage } from './views/peers.tsx';
import { TxPage } from './views/tx.tsx';
import { UnknownPage } from './views/unknown.tsx';

const RETRY_MS = 2000;
/** A node in its first synchronization announces hundreds of blocks a second. */
const RELOAD_MS = 1000;

/** The dashboard: the login form, or the page of the address within a session. */
export function Dashboard() {
  // Undefined until the node has answered whether there is a session.
  const [session, setSession] = useState<Session | null | undefined>(undefined);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => onSessionEnd(() => setSession(null)), []);
  useEffect(() => {
    if (session !== undefined) rememberSession(session);
  }, [session]);
  useEffect(() => {
    // Without a session the request would be one more error in the console.
    if (!mayHaveSession()) return setSession(null);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = () =>
      getSession().then(
        (found) => {
          setProblem(null);
          setSession(found);
        },
        (error: unknown) => {
          if (error instanceof ApiFailure && error.status === 401) return setSession(null);
          setProblem(error instanceof Error ? error.message : String(error));
          timer = setTimeout(ask, RETRY_MS);
        },
      );
    void ask();
    return () => clearTimeout(timer);
  }, []);
  if (session === undefined) return <p class="waiting">{problem ?? 'Connecting to the node…'}</p>;
  if (session === null) return <LoginPage onLogin={setSession} />;
  return <Inside session={session} onLogout={() => setSession(null)} />;
}

function Inside({ session, onLogout }: { session: Session; onLogout: () => void }) {
  const [live, setLive] = useState<LiveState>('connecting');
  const [chainVersion, setChainVersion] = useState(0);
  const [mempoolVersion, setMempoolVersion] = useState(0);
  const [projected, setProjected] = useState<readonly ComingBlock[] | null>(null);
  const [now, setNow] = useState(() => Math.floor(Date.now() / 1000));
  const path = usePath();
  useEffect(() => {
    const chain = paced(() => setChainVersion((count) => count + 1), RELOAD_MS);
    const mempool = paced(() => setMempoolVersion((count) => count + 1), RELOAD_MS);
    const onMessage = ({ type, data }: LiveMessage) => {
      if (type === 'mempoolBlocks') setProjected(data.blocks as readonly ComingBlock[]);
      if (type === 'mempoolBlocks' || type === 'feeUpdate' || type === 'reload') mempool.call();
      if (type === 'newBlock' || type === 'blockDisconnected' || type === 'syncStatus' || type === 'reload')
        chain.call();
    };
    const following = new Live(onMessage, setLive);
    const clock = setInterval(() => setNow(Math.floor(Date.now() / 1000)), 1000);
    return () => {
      following.stop();
      chain.stop();
      mempool.stop();
      clearInterval(clock);
    };
  }, []);
  const shared: Shared = { session, live, chainVersion, mempoolVersion, projected, now };
  const leave = () => void logOut(session).then(onLogout, onLogout);
  return (
    <SharedContext.Provider value={shared}>
      <Layout path={path} onLogout={leave}>
        <CurrentPage path={path} />
      </Layout>
    </SharedContext.Provider>
  );
}

function CurrentPage({ path }: { path: string }) {
  const route = routeOf(path);
  switch (route.page) {
    case 'overview':
      return <OverviewPage />;
    case 'mempool':
      return <MempoolPage />;
    case 'charts':
      return <ChartsPage />;
    case 'peers':
      return <PeersPage />;
    case 'keys':
      return <KeysPage />;
    case 'block':
      return <BlockPage key={route.id} id={route.id} />;
    case 'tx':
      return <TxPage key={route.id} txid={route.id} />;
    case 'address':
      return <AddressPage key={route.id} address={route.id} />;
    case 'unknown':
      return <UnknownPage />;
  }
}
