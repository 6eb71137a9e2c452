// `npm run generate:clients` writes this file from the OpenAPI document of the node.

export interface paths {
  "/healthz": {
    /** Liveness: 200 as long as the process serves */
    get: operations["getHealthz"];
  };
  "/readyz": {
    /** Readiness: 200 when every check is ok, else 503 */
    get: operations["getReadyz"];
  };
  "/metrics": {
    /** Prometheus metrics */
    get: operations["getMetrics"];
  };
  "/api/health": {
    /** Health */
    get: operations["getHealth"];
  };
  "/api/block/{hash}": {
    /** Block by hash */
    get: operations["getBlock"];
  };
  "/api/block-by-height/{height}": {
    /** Block of the active chain by height */
    get: operations["getBlockByHeight"];
  };
  "/api/blocks": {
    /** Blocks of the active chain, newest first */
    get: operations["getBlocks"];
  };
  "/api/blocks/tip": {
    /** The tip of the active chain */
    get: operations["getBlocksTip"];
  };
  "/api/block/{hash}/txs": {
    /** Transactions of a block, in block order */
    get: operations["getBlockTxs"];
  };
  "/api/block/{hash}/txids": {
    /** Transaction ids of a block */
    get: operations["getBlockTxids"];
  };
  "/api/block/{hash}/header": {
    /** Header of a block as hex */
    get: operations["getBlockHeader"];
  };
  "/api/block/{hash}/raw": {
    /** A block as bytes */
    get: operations["getBlockRaw"];
  };
  "/api/block/{hash}/hex": {
    /** A block as hex */
    get: operations["getBlockHex"];
  };
  "/api/block/{hash}/status": {
    /** Whether a block is in the active chain */
    get: operations["getBlockStatus"];
  };
  "/api/headers": {
    /** Headers of the active chain */
    get: operations["getHeaders"];
  };
  "/api/tx/{txid}": {
    /** Transaction by id */
    get: operations["getTx"];
  };
  "/api/tx/{txid}/proof": {
    /** Merkle proof that a transaction is in a block */
    get: operations["getTxProof"];
  };
  "/api/tx/{txid}/status": {
    /** Whether a transaction is confirmed, and in which block */
    get: operations["getTxStatus"];
  };
  "/api/tx/{txid}/hex": {
    /** A transaction as hex */
    get: operations["getTxHex"];
  };
  "/api/tx/{txid}/raw": {
    /** A transaction as bytes */
    get: operations["getTxRaw"];
  };
  "/api/txs/status": {
    /** The status of many transactions */
    post: operations["getTxsStatus"];
  };
  "/api/txs/details": {
    /**
     * Many transactions with the outputs that they spend
     * @description Up to 1,000 transactions at one tip, each as in `GET /api/tx/{txid}`, in the order of the request. An id that is given twice counts once. A reply holds transactions of one megabyte; the ids of the others are in `remaining` and are sent with the next request.
     */
    post: operations["getTxsDetails"];
  };
  "/api/tx/{txid}/outspends": {
    /**
     * The inputs that spend the outputs of a transaction
     * @description Inputs of the chain and of the mempool. Needs the spender index (`index.spender`), and the transaction index for a confirmed transaction.
     */
    get: operations["getTxOutspends"];
  };
  "/api/tx/{txid}/outspend/{n}": {
    /**
     * The input that spends an output of a transaction
     * @description Inputs of the chain and of the mempool. Needs the spender index (`index.spender`), and the transaction index for a confirmed transaction.
     */
    get: operations["getTxOutspend"];
  };
  "/api/tx/{txid}/cpfp": {
    /**
     * Unconfirmed relatives of a transaction, and the feerate that counts for a miner
     * @description The effective feerate is that of the chunk in which a miner includes the transaction, so a child that pays more raises it. A confirmed transaction has no relatives here.
     */
    get: operations["getTxCpfp"];
  };
  "/api/balance/{address}": {
    /** Balance of an address */
    get: operations["getBalance"];
  };
  "/api/balances": {
    /**
     * Balances of many addresses
     * @description All of them at one tip, each as in `GET /api/balance/{address}`.
     */
    post: operations["getBalances"];
  };
  "/api/address/{address}": {
    /** An address and its balance */
    get: operations["getAddress"];
  };
  "/api/address/{address}/txs": {
    /** Transactions of an address */
    get: operations["getAddressTxs"];
  };
  "/api/address/{address}/utxos": {
    /** Unspent outputs of an address */
    get: operations["getAddressUtxos"];
  };
  "/api/utxos": {
    /**
     * Unspent outputs of many addresses
     * @description One list in the order of the chain, the mempool last, at one tip. An address that is given twice counts once. The next page is the same request with the path and query of `next`; its addresses may be in another order.
     */
    post: operations["getUtxos"];
  };
  "/api/xpub": {
    /**
     * Balance and addresses of a descriptor or extended public key
     * @description The scripts are derived from index 0 on, in each branch up to the gap limit; at most 10,000 in all. Private keys are refused. All members are of one tip and one state of the mempool.
     */
    post: operations["getXpub"];
  };
  "/api/xpub/txs": {
    /**
     * Transactions of a descriptor or extended public key
     * @description The scripts are derived from index 0 on, in each branch up to the gap limit; at most 10,000 in all. Private keys are refused. The next page is the same request with the path and query of `next`, and the same body: a cursor belongs to its descriptor and its gap limit. All pages show the scripts that the first one has found: a payment in between may move the gap, and the scripts behind it are in the next list.
     */
    post: operations["getXpubTxs"];
  };
  "/api/xpub/utxos": {
    /**
     * Unspent outputs of a descriptor or extended public key
     * @description The scripts are derived from index 0 on, in each branch up to the gap limit; at most 10,000 in all. Private keys are refused. The next page is the same request with the path and query of `next`, and the same body: a cursor belongs to its descriptor and its gap limit. All pages show the scripts that the first one has found: a payment in between may move the gap, and the scripts behind it are in the next list.
     */
    post: operations["getXpubUtxos"];
  };
  "/api/validate/{address}": {
    /** Whether an address is valid */
    get: operations["validateAddress"];
  };
  "/api/mempool/address/{address}": {
    /** Unconfirmed transactions of an address */
    get: operations["getMempoolAddress"];
  };
  "/api/difficulty": {
    /** Difficulty now, next and before */
    get: operations["getDifficulty"];
  };
  "/api/chart/{series}": {
    /**
     * A series over the active chain, or of the state of the node
     * @description In a series over the chain each point stands for the same number of blocks, and has the time of the last of them. `difficulty`: difficulty of the last block (ratio); `hashrate`: work of the blocks divided by their time (hash/s); `blockInterval`: mean time between two blocks (s); `blockSize`: mean size of the blocks (B); `blockWeight`: mean weight of the blocks (BIP-141) (WU); `txCount`: mean number of transactions of the blocks (tx); `fees`: mean sum of the fees of a block (sat); `feeRate`: fees of the blocks divided by their virtual size (sat/vB); `supply`: value of the UTXO set after the last block (sat). A series of the state of the node has one sample a minute; each point is their mean over `interval` seconds, and has the time at which these begin. Minutes are kept for a day, ten minutes for 30 days, two hours for 366 days, days for ten years. `mempoolCount`: mean number of transactions in the mempool (tx); `mempoolVsize`: mean virtual size of the mempool (vB); `peers`: mean number of connected peers (peer). Points without data are left out, so a gap shows when the node was not running. A hundred points cost one call.
     */
    get: operations["getChart"];
  };
  "/api/supply/circulating": {
    /** Supply: coins in the UTXO set */
    get: operations["getSupplyCirculating"];
  };
  "/api/supply/issued": {
    /** Supply: coins issued by the schedule */
    get: operations["getSupplyIssued"];
  };
  "/api/supply/total": {
    /** Supply: same as circulating */
    get: operations["getSupplyTotal"];
  };
  "/api/supply/max": {
    /** Supply: maximum number of coins */
    get: operations["getSupplyMax"];
  };
  "/api/tx/{txid}/replacements": {
    /**
     * Replacements of a transaction within the last day
     * @description All transactions that the newest replacement has replaced, directly or through others, newest first. `truncated` says that there are more than the 100 newest. The history is in memory: it covers a day at most and ends with the process.
     */
    get: operations["getTxReplacements"];
  };
  "/api/tx": {
    /** Broadcast a transaction */
    post: operations["broadcastTx"];
  };
  "/api/tx/test": {
    /** Whether the mempool would accept transactions */
    post: operations["testTxs"];
  };
  "/api/txs/package": {
    /** Broadcast a child with its parents */
    post: operations["broadcastPackage"];
  };
  "/api/mempool": {
    /** The mempool */
    get: operations["getMempool"];
  };
  "/api/mempool/txids": {
    /** Ids of unconfirmed transactions, in the order of arrival */
    get: operations["getMempoolTxids"];
  };
  "/api/mempool/recent": {
    /** The last transactions accepted */
    get: operations["getMempoolRecent"];
  };
  "/api/mempool/blocks": {
    /**
     * The next blocks, as they would be mined from the mempool
     * @description At most a second old, or the last ones for at most a minute while a block is validated. The WebSocket sends changes as `mempoolBlocks`.
     */
    get: operations["getMempoolBlocks"];
  };
  "/api/fees": {
    /** Fee rates */
    get: operations["getFees"];
  };
  "/api/info": {
    /** The node and its chain */
    get: operations["getInfo"];
  };
  "/api/peers": {
    /** Connected peers */
    get: operations["getPeers"];
  };
  "/api/listing": {
    /** The listing record of the coin */
    get: operations["getListing"];
  };
  "/api/events": {
    /** Events of the chain and the mempool */
    get: operations["getEvents"];
  };
  "/api/watches": {
    /** Watches of this key, oldest first */
    get: operations["getWatches"];
    /** Watch something, or change what is reported of it */
    post: operations["putWatches"];
    /** Stop watching: the ids that are named, or all */
    delete: operations["removeWatches"];
  };
  "/api/watches/{id}": {
    /** One watch */
    get: operations["getWatch"];
    /** Stop watching one */
    delete: operations["removeWatch"];
  };
  "/api/ws-ticket": {
    /** A ticket for one WebSocket: GET /ws?ticket=…, once, within a minute */
    post: operations["createWsTicket"];
  };
  "/api/config/limits": {
    /** Rights, limits and present use of the caller */
    get: operations["getConfigLimits"];
  };
  "/api/webhooks": {
    /** Webhooks of this key, oldest first */
    get: operations["getWebhooks"];
    /**
     * Deliver events to a URL
     * @description The node posts the events of these types, and of the watches of the key, in their order and at least once. Each delivery is signed as the Standard Webhooks specification says. The key also needs the scope `read`, and `wallet.read` for walletTransaction. Without `secret` the node makes one and shows it this once. Deliveries begin behind `after`, or at the present end of the log.
     */
    post: operations["createWebhook"];
  };
  "/api/webhooks/{id}": {
    /** One webhook, with its lag and its last error */
    get: operations["getWebhook"];
    /** End a webhook */
    delete: operations["removeWebhook"];
  };
  "/api/webhooks/{id}/pause": {
    /** Stop the deliveries of a webhook for a while */
    post: operations["pauseWebhook"];
  };
  "/api/webhooks/{id}/resume": {
    /** Continue a webhook that is paused, disabled, or waits after a failure */
    post: operations["resumeWebhook"];
  };
  "/api/webhooks/{id}/replay": {
    /** Deliver everything behind a cursor again */
    post: operations["replayWebhook"];
  };
  "/api/webhooks/{id}/secret": {
    /** Replace the secret of a webhook; the previous one signs as well for a time */
    post: operations["replaceWebhookSecret"];
  };
  "/api/webhooks/{id}/test": {
    /** Send one message of the type test, and report the outcome */
    post: operations["testWebhook"];
  };
  "/api/session": {
    /** The session of the cookie, with the token that a page sends with every POST and DELETE */
    get: operations["getSession"];
    /**
     * Open a session with a code that `obverse login` prints
     * @description The reply sets the cookie `obverse_session`, which counts for /api, /metrics and /ws, and never for JSON-RPC. A session ends after eight hours, or thirty minutes without a request; with the scope admin after thirty minutes.
     */
    post: operations["getLogIn"];
    /** End the session of the cookie, with its WebSockets */
    delete: operations["getLogOut"];
  };
  "/api/keys": {
    /** API keys without their secrets, oldest first, with revoked and expired ones */
    get: operations["getKeys"];
  };
  "/api/audit": {
    /** Audit log: administrative, spending and key-management calls, newest first */
    get: operations["getAudit"];
  };
}

export type webhooks = Record<string, never>;

export interface components {
  schemas: {
    Address: {
      /** @description in canonical form */
      address: string;
      /** @constant */
      isValid: true;
      type: components["schemas"]["ScriptType"];
      script: components["schemas"]["Script"];
      /**
       * Format: int64
       * @description in the UTXO set, with immature coinbases, satoshis
       */
      confirmed: number;
      /**
       * Format: int64
       * @description received minus spent in the mempool, satoshis
       */
      unconfirmed: number;
      /**
       * Format: int64
       * @description confirmed plus unconfirmed, satoshis
       */
      total: number;
      /**
       * Format: int64
       * @description coinbases of fewer than 100 confirmations, satoshis
       */
      immature: number;
      /**
       * Format: int64
       * @description received in the mempool, satoshis
       */
      pendingReceived: number;
      /**
       * Format: int64
       * @description spent in the mempool, satoshis
       */
      pendingSpent: number;
      /**
       * Format: int64
       * @description confirmed receipts of all time, satoshis
       */
      received: number;
      /**
       * Format: int64
       * @description confirmed spends of all time, satoshis
       */
      sent: number;
      /** @description confirmed transactions */
      txCount: number;
      mempoolTxCount: number;
      /** @description confirmed unspent outputs */
      utxoCount: number;
      firstSeenHeight: number | null;
      lastSeenHeight: number | null;
      tip: components["schemas"]["Tip"];
    };
    AddressCheck: {
      isValid: boolean;
      type: components["schemas"]["ScriptType"] | null;
      witnessVersion: number | null;
      script: components["schemas"]["Script"] | null;
      reason: string | null;
      /** @description characters that are likely wrong */
      errorLocations: number[];
    };
    AddressFormat: {
      type: string;
      encoding: string;
      version?: number;
      prefix: string;
    };
    AddressTransaction: {
      /** @constant */
      type: "addressTransaction";
      data: components["schemas"]["AddressTransactionData"];
    };
    AddressTransactionData: {
      /** @description identifies the event; a client resumes behind it */
      cursor: string;
      /** @description number in the log */
      seq: number;
      /**
       * Format: int64
       * @description Unix seconds of the event
       */
      time: number;
      /** @description order among the messages that are derived from one event */
      sub: number;
      /** @description an address, or script:<hex> */
      address: string;
      txid: string;
      status: components["schemas"]["TxStatus"];
      /**
       * Format: int64
       * @description satoshis that the outputs pay to the address
       */
      received: number;
      /**
       * Format: int64
       * @description satoshis that the inputs spend from the address
       */
      sent: number;
      outputs: components["schemas"]["PaidOutput"][];
      inputs: components["schemas"]["SpendingInput"][];
      phase: components["schemas"]["AddressTransactionPhase"];
      watchId: string | null;
    };
    /**
     * @description the state that the transaction has reached
     * @enum {string}
     */
    AddressTransactionPhase: "mempool" | "confirmed" | "reverted" | "removed";
    /** @description a transaction as one address sees it; tx only with details=full */
    AddressTx: {
      txid: string;
      status: components["schemas"]["TxStatus"];
      /**
       * Format: int64
       * @description of the block, or when the mempool accepted it
       */
      time: number;
      /**
       * Format: int64
       * @description satoshis
       */
      received: number;
      /**
       * Format: int64
       * @description satoshis
       */
      sent: number;
      /**
       * Format: int64
       * @description received minus sent, satoshis
       */
      net: number;
      fee: number | null;
      vsize: number | null;
      isCoinbase: boolean;
      signalsRbf: boolean | null;
      outputs: components["schemas"]["PaidOutput"][] | null;
      inputs: components["schemas"]["SpendingInput"][] | null;
      tx?: components["schemas"]["Tx"] | null;
    };
    AddressTxsPage: {
      /** @description in canonical form */
      address: string;
      total: components["schemas"]["TxTotal"];
      tip: components["schemas"]["Tip"];
      items: components["schemas"]["AddressTx"][];
      nextCursor: string | null;
      next: string | null;
    };
    AddressUtxo: {
      /** @description in canonical form */
      address: string;
      txid: string;
      vout: number;
      /**
       * Format: int64
       * @description satoshis
       */
      value: number;
      /** @description hex */
      script: string;
      height: number | null;
      blockHash: string | null;
      confirmations: number;
      isCoinbase: boolean;
      /** @description false for a coinbase of fewer than 100 confirmations */
      mature: boolean;
      spentInMempool?: string | null;
    };
    AddressesRequest: {
      addresses: string[];
    };
    AdvisedConfirmations: {
      deposit: number;
      depositLarge: number;
      withdrawal: number;
      coinbase: number;
    };
    AllUtxosPage: {
      total: components["schemas"]["UtxoTotal"];
      tip: components["schemas"]["Tip"];
      items: components["schemas"]["AddressUtxo"][];
      nextCursor: string | null;
      next: string | null;
    };
    AuditEntry: {
      id: number;
      /**
       * Format: int64
       * @description Unix seconds
       */
      time: number;
      /** @description id of a key, static, cookie, rpcauth:USER, session:ID, anonymous or cli:UID */
      who: string;
      /** @description local for the command line */
      ip: string;
      requestId: string;
      method: string;
      wallet: string | null;
      outcome: string | null;
      keyId: string | null;
      txid: string | null;
    };
    AuditPage: {
      tip: components["schemas"]["Tip"] | null;
      items: components["schemas"]["AuditEntry"][];
      nextCursor: string | null;
      next: string | null;
    };
    Balance: {
      /** @description in canonical form */
      address: string;
      script: components["schemas"]["Script"];
      /**
       * Format: int64
       * @description in the UTXO set, with immature coinbases, satoshis
       */
      confirmed: number;
      /**
       * Format: int64
       * @description received minus spent in the mempool, satoshis
       */
      unconfirmed: number;
      /**
       * Format: int64
       * @description confirmed plus unconfirmed, satoshis
       */
      total: number;
      /**
       * Format: int64
       * @description coinbases of fewer than 100 confirmations, satoshis
       */
      immature: number;
      /**
       * Format: int64
       * @description received in the mempool, satoshis
       */
      pendingReceived: number;
      /**
       * Format: int64
       * @description spent in the mempool, satoshis
       */
      pendingSpent: number;
      /**
       * Format: int64
       * @description confirmed receipts of all time, satoshis
       */
      received: number;
      /**
       * Format: int64
       * @description confirmed spends of all time, satoshis
       */
      sent: number;
      /** @description confirmed transactions */
      txCount: number;
      mempoolTxCount: number;
      /** @description confirmed unspent outputs */
      utxoCount: number;
      firstSeenHeight: number | null;
      lastSeenHeight: number | null;
      tip: components["schemas"]["Tip"];
    };
    /** @description the balances of many addresses at one tip */
    Balances: {
      tip: components["schemas"]["Tip"];
      /** @description in the order of the request */
      items: components["schemas"]["Balance"][];
    };
    /** @description a block */
    Block: {
      hash: string;
      /** @description height of a block */
      height: number;
      /** @description 1 at the tip; -1 outside the active chain */
      confirmations: number;
      inActiveChain: boolean;
      previousHash: string | null;
      nextHash: string | null;
      version: number;
      versionHex: string;
      merkleRoot: string;
      /**
       * Format: int64
       * @description Unix seconds
       */
      time: number;
      /**
       * Format: int64
       * @description median time past, BIP-113
       */
      medianTime: number;
      nonce: number;
      bits: string;
      /** @description the target as a number of 256 bits */
      target: string;
      difficulty: number;
      /** @description work of the chain up to this block */
      chainwork: string;
      txCount: number;
      /** @description bytes */
      size: number;
      /** @description bytes without witnesses */
      strippedSize: number;
      /** @description weight units, BIP-141 */
      weight: number;
      /**
       * Format: int64
       * @description new coins by the schedule, satoshis
       */
      subsidy: number;
      fees: number | null;
      /**
       * Format: int64
       * @description outputs of the coinbase, satoshis
       */
      reward: number;
      inputs: number;
      outputs: number;
      /**
       * Format: int64
       * @description outputs without the coinbase, satoshis
       */
      valueOut: number;
      coinbase: components["schemas"]["BlockCoinbase"];
      /** @description in block order; left out of summaries */
      txids?: string[];
      receivedAt: number | null;
    };
    BlockCoinbase: {
      txid: string;
      /** @description hex */
      scriptHex: string;
      /** @description printable ASCII characters of the script */
      text: string;
    };
    BlockDisconnected: {
      /** @constant */
      type: "blockDisconnected";
      data: components["schemas"]["BlockDisconnectedData"];
    };
    BlockDisconnectedData: {
      /** @description identifies the event; a client resumes behind it */
      cursor: string;
      /** @description number in the log */
      seq: number;
      /**
       * Format: int64
       * @description Unix seconds of the event
       */
      time: number;
      hash: string;
      /** @description height of a block */
      height: number;
      previousHash: string | null;
      txids: string[];
      /** @description 1 for the old tip */
      depth: number;
      block?: components["schemas"]["Block"];
    };
    /** @description a block */
    BlockReference: {
      /** @description height of a block */
      height: number;
      hash: string;
    };
    BlockStatus: {
      inActiveChain: boolean;
      /** @description height of a block */
      height: number;
      /** @description -1 outside the active chain */
      confirmations: number;
      nextHash: string | null;
    };
    BlockTip: {
      /** @description height of a block */
      height: number;
      hash: string;
      /**
       * Format: int64
       * @description Unix seconds
       */
      time: number;
      /**
       * Format: int64
       * @description median time past, BIP-113
       */
      medianTime: number;
    };
    BlockTxsPage: {
      /** @description transactions of the block */
      total: number;
      tip: components["schemas"]["Tip"];
      items: components["schemas"]["Tx"][];
      nextCursor: string | null;
      next: string | null;
    };
    BlocksPage: {
      tip: components["schemas"]["Tip"];
      items: components["schemas"]["Block"][];
      nextCursor: string | null;
      next: string | null;
    };
    Broadcast: {
      txid: string;
      wtxid: string;
      status: components["schemas"]["BroadcastStatus"];
      /** @description virtual bytes */
      vsize: number;
      fee: number | null;
      feeRate: number | null;
      /** @description transactions that it replaced */
      replaced: string[];
      blockHash: string | null;
      confirmations: number;
      /** @description peers */
      relayedTo: number;
    };
    /**
     * @description the outcome; scheduled with p2p.privateBroadcast, where the transaction is not in the mempool
     * @enum {string}
     */
    BroadcastStatus: "accepted" | "scheduled" | "already_in_mempool" | "already_confirmed";
    /** @description null without a limit */
    CallRate: {
      perSecond: number;
      burst: number;
      /** @description calls that are possible now */
      remaining: number;
      /** @description seconds until all of the burst is available */
      resetAfter: number;
    };
    Caller: {
      kind: components["schemas"]["CallerKind"];
      /** @description public id of the key, or of the session */
      id: string;
      scopes: components["schemas"]["Scope"][];
      wallets: string[] | null;
      methods: string[] | null;
    };
    /**
     * @description the kind of its credentials
     * @enum {string}
     */
    CallerKind: "key" | "static" | "cookie" | "rpcauth" | "session";
    CallerLimits: {
      /** @description bytes of path and query */
      urlBytes: number;
      /** @description bytes of the body of POST /api/tx */
      txBodyBytes: number;
      /** @description bytes of the body of JSON-RPC */
      rpcBodyBytes: number;
      /** @description seconds of a REST read; 0 without a limit */
      requestSeconds: number;
      /** @description unanswered REST requests */
      parallelRequests: number;
      /** @description calls of a batch */
      rpcBatch: number;
      /** @description JSON-RPC requests that run */
      rpcRunning: number;
      /** @description JSON-RPC requests that wait */
      rpcQueued: number;
      /** @description WebSocket connections */
      sockets: number;
      /** @description bytes of a message of a client */
      socketFrameBytes: number;
      /** @description messages of a client in ten seconds */
      socketMessagesPer10s: number;
      /** @description watched items of a connection */
      socketWatches: number;
      storedWatches: number;
      /** @description requests that wait for events */
      eventWaits: number;
      /** @description unused tickets */
      tickets: number;
    };
    /** @description a series over the active chain, or of the state of the node */
    Chart: {
      series: components["schemas"]["ChartSeries"];
      unit: components["schemas"]["ChartUnit"];
      fromHeight: number | null;
      toHeight: number | null;
      interval: number | null;
      /** @description pairs of the time of the last block of a point, or of the begin of its interval, Unix seconds, and the value */
      points: number[][];
      tip: components["schemas"]["Tip"];
    };
    /**
     * @description a series over the active chain, or of the state of the node
     * @enum {string}
     */
    ChartSeries: "difficulty" | "hashrate" | "blockInterval" | "blockSize" | "blockWeight" | "txCount" | "fees" | "feeRate" | "supply" | "mempoolCount" | "mempoolVsize" | "peers";
    /**
     * @description the unit of the values
     * @enum {string}
     */
    ChartUnit: "ratio" | "hash/s" | "s" | "B" | "WU" | "tx" | "sat" | "sat/vB" | "vB" | "peer";
    /**
     * @description the outcome of a check
     * @enum {string}
     */
    CheckStatus: "ok" | "degraded" | "fail";
    /** @description the size of a cluster */
    ClusterSize: {
      /** @description transactions */
      count: number;
      /** @description virtual bytes */
      vsize: number;
    };
    CoinUnit: {
      name: string;
      baseName: string;
      basePerCoin: number;
    };
    CoinbaseProof: {
      txid: string;
      /** @description hex */
      hex: string;
      merkle: string[];
    };
    Confirmation: {
      /** @constant */
      type: "confirmation";
      data: components["schemas"]["ConfirmationData"];
    };
    ConfirmationData: {
      /** @description identifies the event; a client resumes behind it */
      cursor: string;
      /** @description number in the log */
      seq: number;
      /**
       * Format: int64
       * @description Unix seconds of the event
       */
      time: number;
      /** @description order among the messages that are derived from one event */
      sub: number;
      txid: string;
      address: string | null;
      outpoint: string | null;
      received: number | null;
      sent: number | null;
      confirmations: number;
      blockHash: string | null;
      height: number | null;
      /** @description whether the threshold is no longer reached */
      reverted: boolean;
      watchId: string | null;
      /** @description the watched number of confirmations */
      threshold: number;
    };
    /** @description the unconfirmed relatives of a transaction */
    Cpfp: {
      txid: string;
      fee: number | null;
      /** @description virtual bytes */
      vsize: number;
      feeRate: number | null;
      status: components["schemas"]["TxStatus"];
      effectiveFeeRate: number | null;
      ancestors: components["schemas"]["CpfpTx"][];
      descendants: components["schemas"]["CpfpTx"][];
      chunk: components["schemas"]["CpfpChunk"] | null;
      cluster: components["schemas"]["ClusterSize"] | null;
      tip: components["schemas"]["Tip"];
    };
    /** @description the transactions that a miner includes together; null for a confirmed transaction */
    CpfpChunk: {
      /**
       * Format: int64
       * @description satoshis, with deltas of prioritisetransaction
       */
      fee: number;
      /** @description virtual bytes */
      vsize: number;
      /** @description in the order of a block */
      txids: string[];
    };
    CpfpTx: {
      txid: string;
      /**
       * Format: int64
       * @description satoshis
       */
      fee: number;
      /** @description virtual bytes */
      vsize: number;
      /** @description satoshis per virtual byte */
      feeRate: number;
    };
    DefaultPorts: {
      p2p: number;
      http: number;
    };
    DescriptorAddress: {
      /** @description an address, or script:<hex> where the script has none */
      address: string;
      /** @description number of the value in the multipath step, from 0 */
      branch: number;
      /** @description index in the range; 0 without a range */
      index: number;
      /**
       * Format: int64
       * @description in the UTXO set, with immature coinbases, satoshis
       */
      confirmed: number;
      /**
       * Format: int64
       * @description received minus spent in the mempool, satoshis
       */
      unconfirmed: number;
      /**
       * Format: int64
       * @description confirmed plus unconfirmed, satoshis
       */
      total: number;
      /**
       * Format: int64
       * @description confirmed receipts of all time, change included, satoshis
       */
      received: number;
      /**
       * Format: int64
       * @description confirmed spends of all time, satoshis
       */
      sent: number;
      /** @description confirmed unspent outputs */
      utxoCount: number;
      /** @description confirmed transactions */
      txCount: number;
      mempoolTxCount: number;
      firstSeenHeight: number | null;
      lastSeenHeight: number | null;
    };
    DescriptorBranch: {
      /** @description number of the value in the multipath step, from 0 */
      branch: number;
      /** @description as it was understood, with its checksum */
      descriptor: string;
      /** @description false for a descriptor of a single index */
      isRange: boolean;
      /** @description indexes that were examined, from 0 */
      examinedCount: number;
      /** @description addresses with a transaction in the chain or the mempool */
      usedCount: number;
      lastUsedIndex: number | null;
      nextUnused: components["schemas"]["DescriptorPlace"] | null;
      /**
       * Format: int64
       * @description in the UTXO set, with immature coinbases, satoshis
       */
      confirmed: number;
      /**
       * Format: int64
       * @description received minus spent in the mempool, satoshis
       */
      unconfirmed: number;
      /**
       * Format: int64
       * @description confirmed plus unconfirmed, satoshis
       */
      total: number;
      /**
       * Format: int64
       * @description confirmed receipts of all time, change included, satoshis
       */
      received: number;
      /**
       * Format: int64
       * @description confirmed spends of all time, satoshis
       */
      sent: number;
      /** @description confirmed unspent outputs */
      utxoCount: number;
    };
    /** @description an address of a descriptor */
    DescriptorPlace: {
      /** @description an address, or script:<hex> where the script has none */
      address: string;
      /** @description number of the value in the multipath step, from 0 */
      branch: number;
      /** @description index in the range; 0 without a range */
      index: number;
    };
    DescriptorRequest: {
      /** @description An output descriptor without private keys, with or without checksum, such as wpkh(xpub…/<0;1>/*); or an extended public key: xpub or tpub stand for pkh(), ypub or upub for sh(wpkh()), zpub or vpub for wpkh() (SLIP-132), each with the branches <0;1>. */
      descriptor: string;
      /**
       * @description unused indexes in succession after which a branch is not examined further
       * @default 20
       */
      gapLimit?: number;
    };
    /** @description balance and addresses of a descriptor at one tip and one state of the mempool */
    DescriptorSummary: {
      /** @description as it was understood, with its checksum */
      descriptor: string;
      gapLimit: number;
      tip: components["schemas"]["Tip"];
      /**
       * Format: int64
       * @description in the UTXO set, with immature coinbases, satoshis
       */
      confirmed: number;
      /**
       * Format: int64
       * @description received minus spent in the mempool, satoshis
       */
      unconfirmed: number;
      /**
       * Format: int64
       * @description confirmed plus unconfirmed, satoshis
       */
      total: number;
      /**
       * Format: int64
       * @description confirmed receipts of all time, change included, satoshis
       */
      received: number;
      /**
       * Format: int64
       * @description confirmed spends of all time, satoshis
       */
      sent: number;
      /** @description confirmed unspent outputs */
      utxoCount: number;
      /**
       * Format: int64
       * @description coinbases of fewer than 100 confirmations, satoshis
       */
      immature: number;
      /**
       * Format: int64
       * @description received in the mempool, change included, satoshis
       */
      pendingReceived: number;
      /**
       * Format: int64
       * @description spent in the mempool, satoshis
       */
      pendingSpent: number;
      txCount: number | null;
      /** @description different transactions of the mempool */
      mempoolTxCount: number;
      /** @description addresses with a transaction in the chain or the mempool */
      usedCount: number;
      branches: components["schemas"]["DescriptorBranch"][];
      /** @description by branch and index, as the parameter selects them */
      addresses: components["schemas"]["DescriptorAddress"][];
    };
    /** @description a transaction as a descriptor sees it; tx only with details=full */
    DescriptorTx: {
      txid: string;
      status: components["schemas"]["TxStatus"];
      /**
       * Format: int64
       * @description of the block, or when the mempool accepted it
       */
      time: number;
      /**
       * Format: int64
       * @description satoshis
       */
      received: number;
      /**
       * Format: int64
       * @description satoshis
       */
      sent: number;
      /**
       * Format: int64
       * @description received minus sent, satoshis
       */
      net: number;
      fee: number | null;
      vsize: number | null;
      isCoinbase: boolean;
      signalsRbf: boolean | null;
      outputs: components["schemas"]["DescriptorTxOutput"][] | null;
      inputs: components["schemas"]["DescriptorTxInput"][] | null;
      tx?: components["schemas"]["Tx"] | null;
    };
    DescriptorTxInput: {
      n: number;
      txid: string;
      vout: number;
      /**
       * Format: int64
       * @description satoshis
       */
      value: number;
      /** @description an address, or script:<hex> where the script has none */
      address: string;
      /** @description number of the value in the multipath step, from 0 */
      branch: number;
      /** @description index in the range; 0 without a range */
      index: number;
    };
    DescriptorTxOutput: {
      n: number;
      /**
       * Format: int64
       * @description satoshis
       */
      value: number;
      /** @description an address, or script:<hex> where the script has none */
      address: string;
      /** @description number of the value in the multipath step, from 0 */
      branch: number;
      /** @description index in the range; 0 without a range */
      index: number;
    };
    DescriptorTxTotal: {
      confirmed: number | null;
      mempool: number;
    };
    DescriptorTxsPage: {
      /** @description as it was understood, with its checksum */
      descriptor: string;
      total: components["schemas"]["DescriptorTxTotal"];
      tip: components["schemas"]["Tip"];
      items: components["schemas"]["DescriptorTx"][];
      nextCursor: string | null;
      next: string | null;
    };
    DescriptorUtxo: {
      /** @description an address, or script:<hex> where the script has none */
      address: string;
      /** @description number of the value in the multipath step, from 0 */
      branch: number;
      /** @description index in the range; 0 without a range */
      index: number;
      txid: string;
      vout: number;
      /**
       * Format: int64
       * @description satoshis
       */
      value: number;
      /** @description hex */
      script: string;
      height: number | null;
      blockHash: string | null;
      confirmations: number;
      isCoinbase: boolean;
      /** @description false for a coinbase of fewer than 100 confirmations */
      mature: boolean;
      spentInMempool?: string | null;
    };
    DescriptorUtxosPage: {
      /** @description as it was understood, with its checksum */
      descriptor: string;
      total: components["schemas"]["UtxoTotal"];
      tip: components["schemas"]["Tip"];
      items: components["schemas"]["DescriptorUtxo"][];
      nextCursor: string | null;
      next: string | null;
    };
    Difficulty: {
      /** @description height of a block */
      height: number;
      bits: string;
      /** @description the target as a number of 256 bits */
      target: string;
      difficulty: number;
      next: components["schemas"]["NextRetarget"];
      blocksToRetarget: number;
      history: components["schemas"]["PastRetarget"][];
      tip: components["schemas"]["Tip"];
    };
    /** @description why there is no answer; a request that failed with 429 or 503 may be sent again after the seconds of Retry-After */
    Error: {
      error: components["schemas"]["ErrorBody"];
    };
    ErrorBody: {
      code: components["schemas"]["ErrorCode"];
      /** @description for humans */
      message: string;
      details: {
        [key: string]: unknown;
      } | null;
      /** @description also in X-Request-Id and in the log of the node */
      requestId: string;
    };
    /**
     * @description a stable word; each response lists the ones that it can have
     * @enum {string}
     */
    ErrorCode: "invalid_request" | "invalid_parameter" | "invalid_hash" | "invalid_txid" | "invalid_height" | "invalid_address" | "invalid_descriptor" | "private_key_refused" | "too_many_scripts" | "invalid_cursor" | "tx_decode_failed" | "missing_credentials" | "invalid_credentials" | "insufficient_scope" | "ip_not_allowed" | "origin_not_allowed" | "invalid_csrf_token" | "not_found" | "block_not_found" | "tx_not_found" | "method_not_allowed" | "tx_unconfirmed" | "cursor_reorged" | "limit_exceeded" | "block_pruned" | "payload_too_large" | "unsupported_media_type" | "misdirected_request" | "tx_rejected" | "upgrade_required" | "rate_limited" | "too_many_connections" | "audit_unavailable" | "internal_error" | "feature_disabled" | "warming_up" | "syncing" | "index_not_ready" | "overloaded" | "shutting_down";
    EventGap: {
      /** @enum {string} */
      scope: "mempool" | "all" | "confirmations";
      fromSeq: number;
      toSeq: number;
      /** @description number of the newest event of the chain */
      lastChainSeq: number;
      /** @description where to continue behind the gap */
      cursor: string;
      /** @description height of the pruned block; only with the scope confirmations, as the next two */
      height?: number;
      /** @description the confirmations that transactions of this block have reached or lost */
      threshold?: number;
      /** @description whether they have lost them */
      reverted?: boolean;
    };
    EventsPage: {
      items: (components["schemas"]["NewBlock"] | components["schemas"]["NewTransaction"] | components["schemas"]["MempoolUpdate"] | components["schemas"]["BlockDisconnected"] | components["schemas"]["Reorg"] | components["schemas"]["TransactionRemoved"] | components["schemas"]["AddressTransaction"] | components["schemas"]["Confirmation"] | components["schemas"]["WalletTransaction"] | components["schemas"]["Gap"])[];
      /** @description number of the last event that is on this page to its end */
      lastSeq: number;
      /** @description the next page begins behind it */
      lastCursor: string;
      gap: components["schemas"]["EventGap"] | null;
    };
    /**
     * @description where a transaction of a disconnected block is now
     * @enum {string}
     */
    Fate: "reconfirmed" | "mempool" | "conflicted" | "dropped";
    /**
     * @description the source of the fee rates
     * @enum {string}
     */
    FeeEstimator: "mempool_policy" | "block_policy" | "floor";
    Fees: {
      /** @description satoshis per virtual byte for the next block */
      fastest: number;
      /** @description satoshis per virtual byte */
      halfHour: number;
      /** @description satoshis per virtual byte */
      hour: number;
      /** @description satoshis per virtual byte for a day */
      economy: number;
      /** @description satoshis per virtual byte to enter the mempool */
      minimum: number;
      estimator: components["schemas"]["FeeEstimator"];
      /** @description by blocks to wait: 1, 2, 3, 6, 12, 25, 144, 504, 1008 */
      targets: {
        [key: string]: number;
      };
      tip: components["schemas"]["Tip"];
      /**
       * Format: int64
       * @description Unix seconds
       */
      updatedAt: number;
    };
    Gap: {
      /** @constant */
      type: "gap";
      data: components["schemas"]["EventGap"];
    };
    HdPrefixes: {
      slip44: number;
      bip32Public: string;
      bip32Private: string;
      purposes: number[];
    };
    HeadersPage: {
      tip: components["schemas"]["Tip"];
      items: string[];
      nextCursor: string | null;
      next: string | null;
    };
    Health: {
      /** @constant */
      status: "ok";
      service: string;
      version: string;
      network: string;
      /**
       * Format: int64
       * @description Unix seconds
       */
      time: number;
      /** @description seconds */
      uptime: number;
      /** @description the last result of /readyz */
      ready: boolean;
    };
    Healthz: {
      /** @constant */
      status: "ok";
      service: string;
    };
    IndexState: {
      enabled: boolean;
      height: number | null;
      synced: boolean;
    };
    Indexes: {
      tx: components["schemas"]["IndexState"];
      address: components["schemas"]["IndexState"];
      spender: components["schemas"]["IndexState"];
      coinStats: components["schemas"]["IndexState"];
      filter: components["schemas"]["IndexState"];
    };
    Info: {
      service: string;
      version: string;
      /** @description BIP-14 */
      userAgent: string;
      network: components["schemas"]["NetworkName"];
      /** @description height of a block */
      height: number;
      bestBlockHash: string;
      /** @description height of the best header */
      headers: number;
      difficulty: number;
      bits: string;
      /** @description work of the active chain */
      chainwork: string;
      /**
       * Format: int64
       * @description Unix seconds
       */
      time: number;
      /**
       * Format: int64
       * @description median time past, BIP-113
       */
      medianTime: number;
      verificationProgress: number;
      initialBlockDownload: boolean;
      synced: boolean;
      peers: number;
      peersInbound: number;
      peersOutbound: number;
      mempoolCount: number;
      pruned: boolean;
      pruneHeight: number | null;
      indexes: components["schemas"]["Indexes"];
      protocolVersion: number;
      /** @description seconds */
      uptime: number;
      warnings: string[];
    };
    /**
     * @description a type of event that can be delivered again
     * @enum {string}
     */
    KeptEventType: "newBlock" | "newTransaction" | "mempoolUpdate" | "addressTransaction" | "confirmation" | "blockDisconnected" | "reorg" | "transactionRemoved" | "walletTransaction";
    Key: {
      id: string;
      label: string;
      scopes: ("read" | "broadcast" | "wallet.read" | "wallet.spend" | "wallet.keys" | "wallet" | "mining" | "metrics" | "webhooks" | "admin")[];
      /**
       * Format: int64
       * @description Unix seconds
       */
      createdAt: number;
      expiresAt: number | null;
      allowedIps: string[] | null;
      rate: components["schemas"]["KeyRate"] | null;
      wallets: string[] | null;
      lastUsedAt: number | null;
      revokedAt: number | null;
    };
    KeyRate: {
      perSecond: number;
      burst: number;
    };
    Keys: {
      items: components["schemas"]["Key"][];
    };
    /** @description the rights and limits of the caller */
    Limits: {
      key: components["schemas"]["Caller"];
      rate: components["schemas"]["CallRate"] | null;
      use: components["schemas"]["Use"];
      limits: components["schemas"]["CallerLimits"];
      unitsPerCall: components["schemas"]["UnitsPerCall"];
      /** @description entries on a page of each list */
      pages: {
        [key: string]: components["schemas"]["PageLimits"];
      };
    };
    /** @description the listing record of the coin */
    Listing: {
      /** @constant */
      schema: 1;
      name: string;
      symbol: string;
      /** @constant */
      decimals: 8;
      unit: components["schemas"]["CoinUnit"];
      network: components["schemas"]["NetworkName"];
      isTestnet: boolean;
      genesisHash: string;
      /**
       * Format: int64
       * @description Unix seconds
       */
      genesisTime: number;
      networkMagic: string;
      consensus: components["schemas"]["ListingConsensus"];
      supply: components["schemas"]["ListingSupply"];
      emission: components["schemas"]["ListingEmission"];
      addresses: components["schemas"]["ListingAddresses"];
      hd: components["schemas"]["HdPrefixes"];
      ports: components["schemas"]["DefaultPorts"];
      fees: components["schemas"]["ListingFees"];
      confirmations: components["schemas"]["AdvisedConfirmations"];
      software: components["schemas"]["Software"];
      links: components["schemas"]["ListingLinks"];
      endpoints: {
        [key: string]: string;
      };
      features: {
        [key: string]: boolean;
      };
      status: components["schemas"]["ListingStatus"];
    };
    ListingAddresses: {
      formats: components["schemas"]["AddressFormat"][];
      bech32Hrp: string;
      wifPrefix: number;
      memoRequired: boolean;
    };
    ListingConsensus: {
      type: string;
      algorithm: string;
      /** @description seconds */
      targetBlockTime: number;
      /** @description blocks */
      retargetInterval: number;
      maxBlockWeight: number;
      /** @description blocks */
      coinbaseMaturity: number;
    };
    ListingEmission: {
      /** @description coins, with eight decimals */
      initialSubsidy: string;
      /** @description coins, with eight decimals */
      currentSubsidy: string;
      halvingInterval: number;
      /** @description height of a block */
      nextHalvingHeight: number;
      blocksToHalving: number;
      /**
       * Format: int64
       * @description Unix seconds
       */
      estimatedHalvingTime: number;
    };
    ListingFees: {
      /** @description satoshis per virtual byte */
      minRelayFeeRate: number;
      /** @description satoshis per virtual byte */
      incrementalFeeRate: number;
      /** @description satoshis per virtual byte */
      dustRelayFeeRate: number;
      unit: string;
    };
    ListingLinks: {
      website: string | null;
      explorer: string | null;
      explorerTx: string | null;
      explorerAddress: string | null;
      source: string | null;
      whitepaper: string | null;
      support: string | null;
    };
    ListingStatus: {
      /** @description height of a block */
      height: number;
      synced: boolean;
      /**
       * Format: int64
       * @description Unix seconds
       */
      tipTime: number;
    };
    ListingSupply: {
      /** @description coins, with eight decimals */
      max: string;
      /**
       * Format: int64
       * @description satoshis
       */
      maxBase: number;
      /** @description coins, with eight decimals */
      issued: string;
      /**
       * Format: int64
       * @description satoshis
       */
      issuedBase: number;
      /** @description coins, with eight decimals */
      circulating: string;
      /**
       * Format: int64
       * @description satoshis
       */
      circulatingBase: number;
      /** @description coins, with eight decimals */
      unspendable: string;
      /**
       * Format: int64
       * @description satoshis
       */
      unspendableBase: number;
      /** @description height of a block */
      height: number;
      blockHash: string;
      /**
       * Format: int64
       * @description Unix seconds
       */
      time: number;
    };
    LoggedIn: {
      /**
       * Format: int64
       * @description Unix seconds from which the session is no longer valid
       */
      expiresAt: number;
      /** @description rights of the session; admin only reads */
      scopes: ("read" | "broadcast" | "metrics" | "wallet.read" | "admin")[];
    };
    LoggedOut: {
      ended: boolean;
    };
    Login: {
      /** @description as obverse login prints it */
      code: string;
    };
    Mempool: {
      count: number;
      /** @description virtual bytes of all transactions */
      vsize: number;
      /** @description bytes of all transactions */
      size: number;
      /**
       * Format: int64
       * @description bytes of memory
       */
      usage: number;
      /**
       * Format: int64
       * @description bytes of memory
       */
      maxUsage: number;
      /**
       * Format: int64
       * @description satoshis
       */
      totalFee: number;
      /** @description false while saved transactions are read */
      loaded: boolean;
      /** @description satoshis per virtual byte to enter now */
      minFeeRate: number;
      /** @description satoshis per virtual byte */
      minRelayFeeRate: number;
      /** @description satoshis per virtual byte */
      incrementalFeeRate: number;
      /** @description pairs of a fee rate and the virtual bytes that pay it or more, highest first */
      feeHistogram: number[][];
      unbroadcast: number;
      oldest: number | null;
      /** @description number of the last event */
      seq: number;
      clusterLimit: components["schemas"]["ClusterSize"];
      tip: components["schemas"]["Tip"];
    };
    MempoolAddressPage: {
      /** @description in canonical form */
      address: string;
      count: number;
      /**
       * Format: int64
       * @description satoshis
       */
      received: number;
      /**
       * Format: int64
       * @description satoshis
       */
      sent: number;
      /**
       * Format: int64
       * @description satoshis
       */
      net: number;
      tip: components["schemas"]["Tip"];
      items: components["schemas"]["AddressTx"][];
      nextCursor: string | null;
      next: string | null;
    };
    MempoolFacts: {
      /**
       * Format: int64
       * @description Unix seconds
       */
      firstSeen: number;
      /** @description number of the event */
      seq: number;
      /** @description with the transaction itself */
      ancestorCount: number;
      /** @description virtual bytes */
      ancestorVsize: number;
      /** @description satoshis, with deltas of prioritisetransaction */
      ancestorFee: number;
      /** @description with the transaction itself */
      descendantCount: number;
      /** @description satoshis per virtual byte of the chunk it is mined with */
      effectiveFeeRate: number;
      unbroadcast: boolean;
      replaces: string[];
    };
    MempoolTxidsPage: {
      tip: components["schemas"]["Tip"];
      items: string[];
      nextCursor: string | null;
      next: string | null;
    };
    MempoolUpdate: {
      /** @constant */
      type: "mempoolUpdate";
      data: components["schemas"]["MempoolUpdateData"];
    };
    MempoolUpdateData: {
      /** @description identifies the event; a client resumes behind it */
      cursor: string;
      /** @description number in the log */
      seq: number;
      /**
       * Format: int64
       * @description Unix seconds of the event
       */
      time: number;
      count: number;
      /** @description virtual bytes of all transactions */
      vsize: number;
      /** @description bytes of all transactions */
      size: number;
      /** @description bytes of memory */
      usage: number;
      /**
       * Format: int64
       * @description satoshis
       */
      totalFee: number;
      /** @description satoshis per virtual byte to enter now */
      minFeeRate: number;
      /** @description since the last update */
      added: number;
      /** @description since the last update */
      removed: number;
      tip: components["schemas"]["BlockReference"] | null;
    };
    /**
     * @description the chain
     * @enum {string}
     */
    NetworkName: "main" | "testnet4" | "signet" | "regtest";
    NewBlock: {
      /** @constant */
      type: "newBlock";
      data: components["schemas"]["NewBlockData"];
    };
    NewBlockData: {
      /** @description identifies the event; a client resumes behind it */
      cursor: string;
      /** @description number in the log */
      seq: number;
      /**
       * Format: int64
       * @description Unix seconds of the event
       */
      time: number;
      hash: string;
      /** @description height of a block */
      height: number;
      previousHash: string | null;
      version: number;
      merkleRoot: string;
      /**
       * Format: int64
       * @description Unix seconds
       */
      blockTime: number;
      /**
       * Format: int64
       * @description median of the last eleven blocks, BIP-113
       */
      medianTime: number;
      bits: string;
      nonce: number;
      difficulty: number;
      /** @description as a number of 256 bits */
      chainwork: string;
      txCount: number;
      /** @description bytes */
      size: number;
      /** @description bytes without witnesses */
      strippedSize: number;
      /** @description weight units, BIP-141 */
      weight: number;
      /**
       * Format: int64
       * @description satoshis
       */
      fees: number;
      /**
       * Format: int64
       * @description satoshis
       */
      subsidy: number;
      /**
       * Format: int64
       * @description satoshis that the coinbase pays
       */
      reward: number;
      /** @description 1 */
      confirmations: number;
      /** @description whether the block joined the chain in a reorganization */
      reorg: boolean;
      initialSync: boolean;
      /** @description height of the best header */
      headers: number;
      block?: components["schemas"]["Block"];
    };
    NewTransaction: {
      /** @constant */
      type: "newTransaction";
      data: components["schemas"]["NewTransactionData"];
    };
    NewTransactionData: {
      /** @description identifies the event; a client resumes behind it */
      cursor: string;
      /** @description number in the log */
      seq: number;
      /**
       * Format: int64
       * @description Unix seconds of the event
       */
      time: number;
      txid: string;
      wtxid: string;
      /** @description bytes */
      size: number;
      /** @description virtual bytes */
      vsize: number;
      /** @description weight units, BIP-141 */
      weight: number;
      /**
       * Format: int64
       * @description satoshis
       */
      fee: number;
      /** @description satoshis per virtual byte */
      feeRate: number;
      /**
       * Format: int64
       * @description satoshis
       */
      valueOut: number;
      inputs: number;
      outputs: number;
      /** @description BIP-125, by itself */
      signalsRbf: boolean;
      /** @description transactions that it replaced */
      replaces: string[];
      /** @description returned to the mempool by a reorganization */
      reaccepted: boolean;
      /** @description submitted to this node */
      local: boolean;
      tx?: components["schemas"]["Tx"];
    };
    NextRetarget: {
      /** @description of the next retarget */
      height: number;
      difficulty: number;
      /** @description 0.01 is one percent more */
      change: number;
      /**
       * Format: int64
       * @description Unix seconds
       */
      time: number;
    };
    Outpoint: {
      txid: string;
      vout: number;
    };
    /** @description the input that spends an output */
    Outspend: {
      spent: boolean | null;
      txid: string | null;
      vin: number | null;
      status: components["schemas"]["TxStatus"] | null;
    };
    PackageMember: {
      txid: string;
      status: components["schemas"]["PackageMemberStatus"];
      vsize: number | null;
      fee: number | null;
      feeRate: number | null;
      effectiveFeeRate: number | null;
      reason: string | null;
      class: components["schemas"]["RejectionClass"] | null;
      retryable: boolean | null;
      debug: string | null;
    };
    /**
     * @description the outcome; not_validated where the package was rejected before this transaction
     * @enum {string}
     */
    PackageMemberStatus: "accepted" | "already_in_mempool" | "rejected" | "not_validated";
    PackageResult: {
      /** @description success, or why the package was rejected */
      packageMessage: string;
      /** @description by wtxid */
      results: {
        [key: string]: components["schemas"]["PackageMember"];
      };
      replaced: string[];
    };
    PageLimits: {
      default: number;
      max: number;
    };
    /** @description an output that pays an address */
    PaidOutput: {
      n: number;
      /**
       * Format: int64
       * @description satoshis
       */
      value: number;
    };
    PastRetarget: {
      /** @description height of a block */
      height: number;
      /**
       * Format: int64
       * @description Unix seconds
       */
      time: number;
      difficulty: number;
    };
    Peer: {
      id: number;
      address: string;
      network: string;
      inbound: boolean;
      /** @description Bitcoin Core's name */
      connectionType: string;
      transport: components["schemas"]["PeerTransport"];
      services: string;
      servicesNames: string[];
      version: number;
      userAgent: string;
      /**
       * Format: int64
       * @description Unix seconds
       */
      connectedAt: number;
      /**
       * Format: int64
       * @description Unix seconds
       */
      lastSend: number;
      /**
       * Format: int64
       * @description Unix seconds
       */
      lastRecv: number;
      /**
       * Format: int64
       * @description bytes
       */
      bytesSent: number;
      /**
       * Format: int64
       * @description bytes
       */
      bytesRecv: number;
      pingMs: number | null;
      minPingMs: number | null;
      /** @description seconds */
      timeOffset: number;
      startingHeight: number;
      syncedHeaders: number;
      syncedBlocks: number;
      relayTxs: boolean;
      /** @description satoshis per virtual byte */
      minFeeFilter: number;
      permissions: string[];
    };
    /**
     * @description v2 is BIP-324
     * @enum {string}
     */
    PeerTransport: "detecting" | "v1" | "v2";
    Peers: {
      count: number;
      inbound: number;
      outbound: number;
      items: components["schemas"]["Peer"][];
    };
    Prevout: {
      /**
       * Format: int64
       * @description satoshis
       */
      value: number;
      height: number | null;
      isCoinbase: boolean;
      script: components["schemas"]["Script"];
    };
    ProjectedBlock: {
      txCount: number;
      /** @description virtual bytes */
      vsize: number;
      /** @description weight units */
      weight: number;
      /**
       * Format: int64
       * @description satoshis, with deltas of prioritisetransaction
       */
      totalFee: number;
      /** @description satoshis per virtual byte */
      medianFeeRate: number;
      /** @description satoshis per virtual byte, lowest first */
      feeRange: number[];
    };
    Readiness: {
      status: components["schemas"]["CheckStatus"];
      service: string;
      /**
       * Format: int64
       * @description Unix seconds
       */
      time: number;
      durationMs: number;
      checks: {
        [key: string]: components["schemas"]["ReadinessCheck"];
      };
    };
    /** @description further members depend on the check */
    ReadinessCheck: {
      status: components["schemas"]["CheckStatus"];
      [key: string]: unknown;
    };
    RecentTx: {
      txid: string;
      /**
       * Format: int64
       * @description satoshis
       */
      fee: number;
      vsize: number;
      /** @description satoshis per virtual byte */
      feeRate: number;
      /**
       * Format: int64
       * @description satoshis
       */
      valueOut: number;
      /**
       * Format: int64
       * @description Unix seconds
       */
      time: number;
    };
    /**
     * @description the kind of rule that a transaction breaks
     * @enum {string}
     */
    RejectionClass: "consensus" | "script" | "policy" | "fee" | "missing-inputs" | "conflict" | "premature";
    /**
     * @description why a transaction left the mempool
     * @enum {string}
     */
    RemovalReason: "block" | "replaced" | "conflict" | "sizelimit" | "expiry" | "reorg";
    RemoveWatchesRequest: {
      ids?: string[];
      /** @description true removes all watches of this key */
      all?: boolean;
    };
    RemovedWatches: {
      deleted: number;
      /** @description ids that name no watch of this key */
      missing: string[];
      /** @description watches that this key has left */
      total: number;
    };
    RemovedWebhook: {
      deleted: number;
    };
    Reorg: {
      /** @constant */
      type: "reorg";
      data: components["schemas"]["ReorgData"];
    };
    ReorgData: {
      /** @description identifies the event; a client resumes behind it */
      cursor: string;
      /** @description number in the log */
      seq: number;
      /**
       * Format: int64
       * @description Unix seconds of the event
       */
      time: number;
      /** @description height of a block */
      forkHeight: number;
      /** @description the last block of both branches */
      forkHash: string;
      oldTip: components["schemas"]["BlockReference"];
      newTip: components["schemas"]["BlockReference"];
      /** @description the highest block first */
      disconnected: string[];
      /** @description the lowest block first */
      connected: string[];
      /** @description number of disconnected blocks */
      depth: number;
      txs: components["schemas"]["TxFate"][];
      /** @description whether txs names all transactions of the disconnected blocks */
      txsComplete: boolean;
    };
    ReorgOutput: {
      n: number;
      /**
       * Format: int64
       * @description satoshis
       */
      value: number;
      address: string | null;
    };
    Replacement: {
      txid: string;
      replacedBy: string;
      /**
       * Format: int64
       * @description satoshis
       */
      fee: number;
      /** @description virtual bytes */
      vsize: number;
      /** @description satoshis per virtual byte */
      feeRate: number;
      /**
       * Format: int64
       * @description Unix seconds
       */
      firstSeen: number;
      /**
       * Format: int64
       * @description Unix seconds
       */
      replacedAt: number;
    };
    /** @description the replacement history of a transaction */
    Replacements: {
      txid: string;
      replacedBy: string | null;
      /** @description transactions that it replaced directly */
      replaces: string[];
      /** @description the transaction that no other one replaced */
      newest: string;
      /** @description replaced transactions, newest first */
      items: components["schemas"]["Replacement"][];
      /** @description whether more were replaced than the items */
      truncated: boolean;
      tip: components["schemas"]["Tip"];
    };
    RpcCall: {
      /** @enum {string} */
      jsonrpc?: "2.0" | "1.1" | "1.0";
      id?: string | number | null;
      method: string;
      /** @description by position or by name; docs/json-rpc.md and rpc.discover describe them */
      params?: unknown[] | {
        [key: string]: unknown;
      };
    };
    RpcError: {
      /** @description Bitcoin Core's code */
      code: number;
      message: string;
      /** @description the code of the REST interface, and details */
      data?: unknown;
    };
    RpcReply: {
      /** @constant */
      jsonrpc?: "2.0";
      result?: unknown;
      id?: string | number | null;
      error?: components["schemas"]["RpcError"] | null;
    };
    /**
     * @description a right of a key
     * @enum {string}
     */
    Scope: "read" | "broadcast" | "wallet.read" | "wallet.spend" | "wallet.keys" | "wallet" | "mining" | "metrics" | "webhooks" | "admin";
    /** @description an output script */
    Script: {
      /** @description hex */
      hex: string;
      asm: string;
      type: components["schemas"]["ScriptType"];
      address: string | null;
    };
    ScriptSig: {
      /** @description hex */
      hex: string;
      asm: string;
    };
    /**
     * @description Bitcoin Core's name of the type of an output script
     * @enum {string}
     */
    ScriptType: "pubkey" | "pubkeyhash" | "scripthash" | "multisig" | "nulldata" | "witness_v0_keyhash" | "witness_v0_scripthash" | "witness_v1_taproot" | "anchor" | "witness_unknown" | "nonstandard";
    Session: {
      /** @description names the session in the audit log */
      id: string;
      /**
       * Format: int64
       * @description Unix seconds from which the session is no longer valid
       */
      expiresAt: number;
      /**
       * Format: int64
       * @description Unix seconds at which it ends if no further request is made
       */
      idleExpiresAt: number;
      /** @description rights of the session; admin only reads */
      scopes: ("read" | "broadcast" | "metrics" | "wallet.read" | "admin")[];
      /** @description for the header X-CSRF-Token of POST and DELETE */
      csrfToken: string;
    };
    Software: {
      name: string;
      version: string;
      userAgent: string;
      protocolVersion: number;
      license: string | null;
    };
    /** @description an input that spends from an address; txid and vout name the spent output */
    SpendingInput: {
      n: number;
      txid: string;
      vout: number;
      /**
       * Format: int64
       * @description satoshis
       */
      value: number;
    };
    StoredWatch: {
      id: string;
      kind: components["schemas"]["WatchKind"];
      /** @description an address, hex of a script, a transaction id, or txid:n */
      value: string;
      confirmations: number[];
      label: string | null;
      /**
       * Format: int64
       * @description Unix seconds
       */
      createdAt: number;
      /** @description false where it was there already */
      created: boolean;
    };
    StoredWatches: {
      items: components["schemas"]["StoredWatch"][];
      createdCount: number;
      /** @description watches of this key */
      total: number;
    };
    TestResult: {
      txid: string;
      wtxid: string;
      allowed: boolean | null;
      vsize: number | null;
      fee: number | null;
      feeRate: number | null;
      reason: string | null;
      class: components["schemas"]["RejectionClass"] | null;
      debug: string | null;
    };
    Ticket: {
      ticket: string;
      /**
       * Format: int64
       * @description Unix seconds
       */
      expiresAt: number;
    };
    /** @description the block that an answer belongs to */
    Tip: {
      /** @description height of a block */
      height: number;
      hash: string;
    };
    TransactionRemoved: {
      /** @constant */
      type: "transactionRemoved";
      data: components["schemas"]["TransactionRemovedData"];
    };
    TransactionRemovedData: {
      /** @description identifies the event; a client resumes behind it */
      cursor: string;
      /** @description number in the log */
      seq: number;
      /**
       * Format: int64
       * @description Unix seconds of the event
       */
      time: number;
      txid: string;
      reason: components["schemas"]["RemovalReason"];
      replacedBy: string | null;
      blockHash: string | null;
    };
    /** @description a transaction */
    Tx: {
      txid: string;
      wtxid: string;
      version: number;
      locktime: number;
      /** @description bytes */
      size: number;
      /** @description virtual bytes */
      vsize: number;
      /** @description weight units, BIP-141 */
      weight: number;
      isCoinbase: boolean;
      /** @description BIP-125, by itself */
      signalsRbf: boolean;
      fee: number | null;
      feeRate: number | null;
      valueIn: number | null;
      /**
       * Format: int64
       * @description satoshis
       */
      valueOut: number;
      vin: components["schemas"]["TxInput"][];
      vout: components["schemas"]["TxOutput"][];
      status: components["schemas"]["TxStatus"];
      mempool: components["schemas"]["MempoolFacts"] | null;
      /** @description hex */
      hex: string;
      tip: components["schemas"]["Tip"];
    };
    TxBody: {
      /** @description hex of the transaction; hex and rawtx are other names of this member */
      tx: string;
      /**
       * @description satoshis per virtual byte; 0: any
       * @default 10000
       */
      maxFeeRate?: number;
      /**
       * @description satoshis in unspendable outputs
       * @default 0
       */
      maxBurn?: number;
    };
    TxFate: {
      txid: string;
      fate: components["schemas"]["Fate"];
      conflict: string | null;
      /** @description missing in events that earlier versions stored */
      outputs?: components["schemas"]["ReorgOutput"][];
    };
    TxInput: {
      txid: string | null;
      vout: number | null;
      sequence: number;
      coinbase: string | null;
      scriptSig: components["schemas"]["ScriptSig"];
      witness: string[];
      prevout: components["schemas"]["Prevout"] | null;
    };
    TxOutput: {
      n: number;
      /**
       * Format: int64
       * @description satoshis
       */
      value: number;
      spent: boolean | null;
      script: components["schemas"]["Script"];
    };
    /** @description proof that a transaction is in a block */
    TxProof: {
      txid: string;
      blockHash: string;
      /** @description height of a block */
      blockHeight: number;
      /**
       * Format: int64
       * @description Unix seconds
       */
      blockTime: number;
      confirmations: number;
      /** @description index in the block */
      pos: number;
      txCount: number;
      /** @description siblings from the leaf to the root */
      merkle: string[];
      merkleRoot: string;
      header: string;
      /** @description hex that verifytxoutproof accepts */
      merkleBlock: string;
      coinbase: components["schemas"]["CoinbaseProof"] | null;
      tip: components["schemas"]["Tip"];
    };
    TxRejectedBody: {
      /** @constant */
      code: "tx_rejected";
      /** @description for humans */
      message: string;
      details: components["schemas"]["TxRejection"];
      /** @description also in X-Request-Id and in the log of the node */
      requestId: string;
    };
    TxRejectedError: {
      error: components["schemas"]["TxRejectedBody"];
    };
    /** @description why the mempool rejected a transaction */
    TxRejection: {
      /** @description Bitcoin Core's reject string */
      reason: string;
      debug: string | null;
      class: components["schemas"]["RejectionClass"];
      /** @description whether the same bytes may be accepted later */
      retryable: boolean;
      txid: string;
      /** @description transactions of the mempool that spend the same outputs */
      conflicts: string[];
      /** @description spent outputs that the node does not know */
      missingInputs: components["schemas"]["Outpoint"][];
    };
    /** @description whether a transaction is confirmed, and in which block */
    TxStatus: {
      confirmed: boolean;
      blockHash: string | null;
      blockHeight: number | null;
      blockIndex: number | null;
      blockTime: number | null;
      /** @description 0 in the mempool, 1 in the block at the tip */
      confirmations: number;
    };
    /** @description numbers of transactions */
    TxTotal: {
      confirmed: number;
      mempool: number;
    };
    TxidsRequest: {
      txids: string[];
    };
    TxsBody: {
      txs: string[];
    };
    /** @description many transactions at one tip */
    TxsDetails: {
      tip: components["schemas"]["Tip"];
      items: components["schemas"]["Tx"][];
      /** @description ids of unknown transactions */
      missing: string[];
      /** @description ids of transactions whose block has been pruned */
      pruned: string[];
      /** @description ids of transactions for which the reply has no room */
      remaining: string[];
    };
    /** @description parts of a long read that cost as much of `rate` as one call; each further part of them costs one call more */
    UnitsPerCall: {
      /** @description keys that a request of /api/xpub derives */
      xpubKeys: number;
      /** @description points of a chart */
      chartPoints: number;
      /** @description full transactions of a page */
      fullTxs: number;
      /** @description transactions of POST /api/txs/details */
      txDetails: number;
      /** @description addresses of POST /api/balances and POST /api/utxos */
      addresses: number;
      /** @description watches of one POST /api/watches */
      watches: number;
    };
    Use: {
      /** @description open WebSocket connections */
      sockets: number;
      storedWatches: number;
    };
    Utxo: {
      txid: string;
      vout: number;
      /**
       * Format: int64
       * @description satoshis
       */
      value: number;
      /** @description hex */
      script: string;
      height: number | null;
      blockHash: string | null;
      confirmations: number;
      isCoinbase: boolean;
      /** @description false for a coinbase of fewer than 100 confirmations */
      mature: boolean;
      spentInMempool?: string | null;
    };
    /** @description the sum of all pages */
    UtxoTotal: {
      count: number;
      /**
       * Format: int64
       * @description satoshis
       */
      value: number;
    };
    UtxosPage: {
      /** @description in canonical form */
      address: string;
      total: components["schemas"]["UtxoTotal"];
      tip: components["schemas"]["Tip"];
      items: components["schemas"]["Utxo"][];
      nextCursor: string | null;
      next: string | null;
    };
    /**
     * @description Bitcoin Core's word
     * @enum {string}
     */
    WalletCategory: "send" | "receive" | "generate" | "immature" | "orphan";
    WalletTransaction: {
      /** @constant */
      type: "walletTransaction";
      data: components["schemas"]["WalletTransactionData"];
    };
    /** @description the members of gettransaction, with amounts in satoshis */
    WalletTransactionData: {
      /** @description identifies the event; a client resumes behind it */
      cursor: string;
      /** @description number in the log */
      seq: number;
      /**
       * Format: int64
       * @description Unix seconds of the event
       */
      time: number;
      /** @description order among the messages that are derived from one event */
      sub: number;
      wallet: string;
      txid: string;
      phase: components["schemas"]["WalletTransactionPhase"];
      reason: string | null;
      replacedBy: string | null;
      /**
       * Format: int64
       * @description change of the balance without the fee, satoshis
       */
      amount: number;
      fee: number | null;
      /** @description -1 if a block contradicts it */
      confirmations: number;
      /** @description only for a coinbase */
      generated?: boolean;
      /** @description only while it is unconfirmed */
      trusted?: boolean;
      blockhash?: string;
      /** @description height of a block */
      blockheight?: number;
      blockindex?: number;
      /**
       * Format: int64
       * @description Unix seconds
       */
      blocktime?: number;
      wtxid: string;
      alternate_wtxids: string[];
      walletconflicts: string[];
      mempoolconflicts: string[];
      /**
       * Format: int64
       * @description Unix seconds
       */
      timereceived: number;
      comment?: string;
      to?: string;
      replaces_txid?: string;
      replaced_by_txid?: string;
      details: components["schemas"]["WalletTransactionDetail"][];
    };
    WalletTransactionDetail: {
      address?: string;
      parent_descs?: string[];
      category: components["schemas"]["WalletCategory"];
      /**
       * Format: int64
       * @description satoshis
       */
      amount: number;
      label?: string;
      vout: number;
      /**
       * Format: int64
       * @description satoshis
       */
      fee?: number;
      abandoned: boolean;
    };
    /**
     * @description the state that the transaction has reached
     * @enum {string}
     */
    WalletTransactionPhase: "mempool" | "confirmed" | "reverted" | "conflicted" | "removed" | "abandoned";
    Watch: {
      id: string;
      kind: components["schemas"]["WatchKind"];
      /** @description an address, hex of a script, a transaction id, or txid:n */
      value: string;
      confirmations: number[];
      label: string | null;
      /**
       * Format: int64
       * @description Unix seconds
       */
      createdAt: number;
    };
    /**
     * @description the kind of the watched value
     * @enum {string}
     */
    WatchKind: "address" | "script" | "tx" | "outpoint";
    WatchRequest: {
      kind: components["schemas"]["WatchKind"];
      /** @description an address, hex of a script, a transaction id, or txid:n */
      value: string;
      /** @description numbers of confirmations that are reported; none for addresses and scripts, else 0 and 1 */
      confirmations?: number[];
      label?: string | null;
    };
    WatchesPage: {
      /** @description watches of this key */
      total: number;
      tip: components["schemas"]["Tip"];
      items: components["schemas"]["Watch"][];
      nextCursor: string | null;
      next: string | null;
    };
    WatchesRequest: {
      watches: components["schemas"]["WatchRequest"][];
    };
    Webhook: {
      id: string;
      /** @description https://, or http:// where the node allows it */
      url: string;
      /** @description types of events */
      types: components["schemas"]["KeptEventType"][];
      wallets: string[] | null;
      label: string | null;
      /** @description limit of the events of one delivery */
      maxEvents: number;
      /**
       * Format: int64
       * @description Unix seconds
       */
      createdAt: number;
      previousSecretUntil: number | null;
      status: components["schemas"]["WebhookStatus"];
      /** @description everything up to it is delivered */
      cursor: string;
      lag: components["schemas"]["WebhookLag"];
      /** @description failed attempts in a row */
      failures: number;
      failingSince: number | null;
      nextAttemptAt: number | null;
      deliveredAt: number | null;
      lastError: components["schemas"]["WebhookFailure"] | null;
    };
    WebhookFailure: {
      code: string;
      message: string;
      status: number | null;
      /**
       * Format: int64
       * @description Unix seconds
       */
      at: number;
    };
    WebhookLag: {
      /** @description event numbers between the cursor and the end of the log */
      events: number;
      /** @description age of the oldest event whose delivery failed; 0 without one */
      seconds: number;
    };
    WebhookReplay: {
      /** @description cursor or seq of the event behind which to begin */
      after: string | number;
    };
    WebhookRequest: {
      /** @description https://, or http:// where the node allows it */
      url: string;
      /** @description types of events */
      types?: components["schemas"]["KeptEventType"][];
      wallets?: string[] | null;
      label?: string | null;
      /** @description limit of the events of one delivery */
      maxEvents?: number;
      /** @description whsec_ and the base64 of 24 to 64 bytes */
      secret?: string;
      /** @description cursor or seq of the event behind which to begin */
      after?: string | number;
    };
    WebhookSecretRequest: {
      /** @description whsec_ and the base64 of 24 to 64 bytes */
      secret?: string;
      /**
       * @description seconds for which the previous secret signs as well
       * @default 86400
       */
      overlap?: number;
    };
    /**
     * @description disabled by the node after many failures
     * @enum {string}
     */
    WebhookStatus: "active" | "paused" | "disabled";
    WebhookTest: {
      delivered: boolean;
      status: number | null;
      /** @description milliseconds */
      durationMs: number;
      error: components["schemas"]["WebhookTestError"] | null;
    };
    WebhookTestError: {
      code: string;
      message: string;
    };
    WebhookWithSecret: {
      id: string;
      /** @description https://, or http:// where the node allows it */
      url: string;
      /** @description types of events */
      types: components["schemas"]["KeptEventType"][];
      wallets: string[] | null;
      label: string | null;
      /** @description limit of the events of one delivery */
      maxEvents: number;
      /**
       * Format: int64
       * @description Unix seconds
       */
      createdAt: number;
      previousSecretUntil: number | null;
      status: components["schemas"]["WebhookStatus"];
      /** @description everything up to it is delivered */
      cursor: string;
      lag: components["schemas"]["WebhookLag"];
      /** @description failed attempts in a row */
      failures: number;
      failingSince: number | null;
      nextAttemptAt: number | null;
      deliveredAt: number | null;
      lastError: components["schemas"]["WebhookFailure"] | null;
      secret: string | null;
    };
    Webhooks: {
      items: components["schemas"]["Webhook"][];
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}

export type $defs = Record<string, never>;

export type external = Record<string, never>;

export interface operations {

  /** Liveness: 200 as long as the process serves */
  getHealthz: {
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Healthz"];
        };
      };
    };
  };
  /** Readiness: 200 when every check is ok, else 503 */
  getReadyz: {
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Readiness"];
        };
      };
    };
  };
  /** Prometheus metrics */
  getMetrics: {
    responses: {
      /** @description success */
      200: {
        content: {
          "text/plain": string;
        };
      };
    };
  };
  /** Health */
  getHealth: {
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Health"];
        };
      };
    };
  };
  /** Block by hash */
  getBlock: {
    parameters: {
      query?: {
        /** @description summary leaves out txids */
        fields?: "all" | "summary";
      };
      path: {
        /** @description block hash, 64 hex digits */
        hash: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Block"];
        };
      };
    };
  };
  /** Block of the active chain by height */
  getBlockByHeight: {
    parameters: {
      query?: {
        /** @description summary leaves out txids */
        fields?: "all" | "summary";
      };
      path: {
        /** @description height in the active chain */
        height: number;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Block"];
        };
      };
    };
  };
  /** Blocks of the active chain, newest first */
  getBlocks: {
    parameters: {
      query?: {
        /** @description height above the first block */
        before?: number;
        /** @description entries on a page */
        limit?: number;
        /** @description nextCursor of the page before */
        cursor?: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["BlocksPage"];
        };
      };
    };
  };
  /** The tip of the active chain */
  getBlocksTip: {
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["BlockTip"];
        };
      };
    };
  };
  /** Transactions of a block, in block order */
  getBlockTxs: {
    parameters: {
      query?: {
        /** @description entries on a page */
        limit?: number;
        /** @description nextCursor of the page before */
        cursor?: string;
      };
      path: {
        /** @description block hash, 64 hex digits */
        hash: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["BlockTxsPage"];
        };
      };
    };
  };
  /** Transaction ids of a block */
  getBlockTxids: {
    parameters: {
      path: {
        /** @description block hash, 64 hex digits */
        hash: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": string[];
        };
      };
    };
  };
  /** Header of a block as hex */
  getBlockHeader: {
    parameters: {
      path: {
        /** @description block hash, 64 hex digits */
        hash: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "text/plain": string;
        };
      };
    };
  };
  /** A block as bytes */
  getBlockRaw: {
    parameters: {
      path: {
        /** @description block hash, 64 hex digits */
        hash: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/octet-stream": unknown;
        };
      };
    };
  };
  /** A block as hex */
  getBlockHex: {
    parameters: {
      path: {
        /** @description block hash, 64 hex digits */
        hash: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "text/plain": string;
        };
      };
    };
  };
  /** Whether a block is in the active chain */
  getBlockStatus: {
    parameters: {
      path: {
        /** @description block hash, 64 hex digits */
        hash: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["BlockStatus"];
        };
      };
    };
  };
  /** Headers of the active chain */
  getHeaders: {
    parameters: {
      query?: {
        /** @description first height */
        from?: number;
        /** @description headers */
        count?: number;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["HeadersPage"];
        };
      };
    };
  };
  /** Transaction by id */
  getTx: {
    parameters: {
      path: {
        /** @description transaction id, 64 hex digits */
        txid: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Tx"];
        };
      };
    };
  };
  /** Merkle proof that a transaction is in a block */
  getTxProof: {
    parameters: {
      query?: {
        /** @description true adds the branch of the coinbase */
        coinbase?: boolean;
      };
      path: {
        /** @description transaction id, 64 hex digits */
        txid: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["TxProof"];
        };
      };
    };
  };
  /** Whether a transaction is confirmed, and in which block */
  getTxStatus: {
    parameters: {
      path: {
        /** @description transaction id, 64 hex digits */
        txid: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["TxStatus"];
        };
      };
    };
  };
  /** A transaction as hex */
  getTxHex: {
    parameters: {
      path: {
        /** @description transaction id, 64 hex digits */
        txid: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "text/plain": string;
        };
      };
    };
  };
  /** A transaction as bytes */
  getTxRaw: {
    parameters: {
      path: {
        /** @description transaction id, 64 hex digits */
        txid: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/octet-stream": unknown;
        };
      };
    };
  };
  /** The status of many transactions */
  getTxsStatus: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["TxidsRequest"];
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": {
            [key: string]: components["schemas"]["TxStatus"] | null;
          };
        };
      };
    };
  };
  /**
   * Many transactions with the outputs that they spend
   * @description Up to 1,000 transactions at one tip, each as in `GET /api/tx/{txid}`, in the order of the request. An id that is given twice counts once. A reply holds transactions of one megabyte; the ids of the others are in `remaining` and are sent with the next request.
   */
  getTxsDetails: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["TxidsRequest"];
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["TxsDetails"];
        };
      };
    };
  };
  /**
   * The inputs that spend the outputs of a transaction
   * @description Inputs of the chain and of the mempool. Needs the spender index (`index.spender`), and the transaction index for a confirmed transaction.
   */
  getTxOutspends: {
    parameters: {
      path: {
        /** @description transaction id, 64 hex digits */
        txid: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Outspend"][];
        };
      };
    };
  };
  /**
   * The input that spends an output of a transaction
   * @description Inputs of the chain and of the mempool. Needs the spender index (`index.spender`), and the transaction index for a confirmed transaction.
   */
  getTxOutspend: {
    parameters: {
      path: {
        /** @description transaction id, 64 hex digits */
        txid: string;
        /** @description index of an output */
        n: number;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Outspend"];
        };
      };
    };
  };
  /**
   * Unconfirmed relatives of a transaction, and the feerate that counts for a miner
   * @description The effective feerate is that of the chunk in which a miner includes the transaction, so a child that pays more raises it. A confirmed transaction has no relatives here.
   */
  getTxCpfp: {
    parameters: {
      path: {
        /** @description transaction id, 64 hex digits */
        txid: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Cpfp"];
        };
      };
    };
  };
  /** Balance of an address */
  getBalance: {
    parameters: {
      path: {
        /** @description an address, or script:<hex> */
        address: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Balance"];
        };
      };
    };
  };
  /**
   * Balances of many addresses
   * @description All of them at one tip, each as in `GET /api/balance/{address}`.
   */
  getBalances: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["AddressesRequest"];
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Balances"];
        };
      };
    };
  };
  /** An address and its balance */
  getAddress: {
    parameters: {
      path: {
        /** @description an address, or script:<hex> */
        address: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Address"];
        };
      };
    };
  };
  /** Transactions of an address */
  getAddressTxs: {
    parameters: {
      query?: {
        /** @description entries on a page */
        limit?: number;
        /** @description nextCursor of the page before */
        cursor?: string;
        /** @description newest or oldest first */
        order?: "desc" | "asc";
        /** @description lowest height */
        fromHeight?: number;
        /** @description highest height */
        toHeight?: number;
        /** @description true leaves out the mempool */
        confirmed?: boolean;
        /** @description fewest confirmations */
        minConfirmations?: number;
        /** @description full adds the transaction */
        details?: "summary" | "full";
      };
      path: {
        /** @description an address, or script:<hex> */
        address: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["AddressTxsPage"];
        };
      };
    };
  };
  /** Unspent outputs of an address */
  getAddressUtxos: {
    parameters: {
      query?: {
        /** @description entries on a page */
        limit?: number;
        /** @description nextCursor of the page before */
        cursor?: string;
        /** @description true shows the UTXO set alone */
        confirmed?: boolean;
      };
      path: {
        /** @description an address, or script:<hex> */
        address: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["UtxosPage"];
        };
      };
    };
  };
  /**
   * Unspent outputs of many addresses
   * @description One list in the order of the chain, the mempool last, at one tip. An address that is given twice counts once. The next page is the same request with the path and query of `next`; its addresses may be in another order.
   */
  getUtxos: {
    parameters: {
      query?: {
        /** @description entries on a page */
        limit?: number;
        /** @description nextCursor of the page before */
        cursor?: string;
        /** @description true shows the UTXO set alone */
        confirmed?: boolean;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["AddressesRequest"];
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["AllUtxosPage"];
        };
      };
    };
  };
  /**
   * Balance and addresses of a descriptor or extended public key
   * @description The scripts are derived from index 0 on, in each branch up to the gap limit; at most 10,000 in all. Private keys are refused. All members are of one tip and one state of the mempool.
   */
  getXpub: {
    parameters: {
      query?: {
        /** @description the addresses in the reply */
        addresses?: "used" | "funded" | "all" | "none";
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["DescriptorRequest"];
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["DescriptorSummary"];
        };
      };
    };
  };
  /**
   * Transactions of a descriptor or extended public key
   * @description The scripts are derived from index 0 on, in each branch up to the gap limit; at most 10,000 in all. Private keys are refused. The next page is the same request with the path and query of `next`, and the same body: a cursor belongs to its descriptor and its gap limit. All pages show the scripts that the first one has found: a payment in between may move the gap, and the scripts behind it are in the next list.
   */
  getXpubTxs: {
    parameters: {
      query?: {
        /** @description entries on a page */
        limit?: number;
        /** @description nextCursor of the page before */
        cursor?: string;
        /** @description newest or oldest first */
        order?: "desc" | "asc";
        /** @description lowest height */
        fromHeight?: number;
        /** @description highest height */
        toHeight?: number;
        /** @description true leaves out the mempool */
        confirmed?: boolean;
        /** @description fewest confirmations */
        minConfirmations?: number;
        /** @description full adds the transaction */
        details?: "summary" | "full";
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["DescriptorRequest"];
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["DescriptorTxsPage"];
        };
      };
    };
  };
  /**
   * Unspent outputs of a descriptor or extended public key
   * @description The scripts are derived from index 0 on, in each branch up to the gap limit; at most 10,000 in all. Private keys are refused. The next page is the same request with the path and query of `next`, and the same body: a cursor belongs to its descriptor and its gap limit. All pages show the scripts that the first one has found: a payment in between may move the gap, and the scripts behind it are in the next list.
   */
  getXpubUtxos: {
    parameters: {
      query?: {
        /** @description entries on a page */
        limit?: number;
        /** @description nextCursor of the page before */
        cursor?: string;
        /** @description true shows the UTXO set alone */
        confirmed?: boolean;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["DescriptorRequest"];
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["DescriptorUtxosPage"];
        };
      };
    };
  };
  /** Whether an address is valid */
  validateAddress: {
    parameters: {
      path: {
        /** @description an address, or script:<hex> */
        address: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["AddressCheck"];
        };
      };
    };
  };
  /** Unconfirmed transactions of an address */
  getMempoolAddress: {
    parameters: {
      query?: {
        /** @description entries on a page */
        limit?: number;
        /** @description nextCursor of the page before */
        cursor?: string;
      };
      path: {
        /** @description an address, or script:<hex> */
        address: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["MempoolAddressPage"];
        };
      };
    };
  };
  /** Difficulty now, next and before */
  getDifficulty: {
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Difficulty"];
        };
      };
    };
  };
  /**
   * A series over the active chain, or of the state of the node
   * @description In a series over the chain each point stands for the same number of blocks, and has the time of the last of them. `difficulty`: difficulty of the last block (ratio); `hashrate`: work of the blocks divided by their time (hash/s); `blockInterval`: mean time between two blocks (s); `blockSize`: mean size of the blocks (B); `blockWeight`: mean weight of the blocks (BIP-141) (WU); `txCount`: mean number of transactions of the blocks (tx); `fees`: mean sum of the fees of a block (sat); `feeRate`: fees of the blocks divided by their virtual size (sat/vB); `supply`: value of the UTXO set after the last block (sat). A series of the state of the node has one sample a minute; each point is their mean over `interval` seconds, and has the time at which these begin. Minutes are kept for a day, ten minutes for 30 days, two hours for 366 days, days for ten years. `mempoolCount`: mean number of transactions in the mempool (tx); `mempoolVsize`: mean virtual size of the mempool (vB); `peers`: mean number of connected peers (peer). Points without data are left out, so a gap shows when the node was not running. A hundred points cost one call.
   */
  getChart: {
    parameters: {
      query?: {
        /** @description the time before the tip, or before now for the state of the node */
        range?: "all" | "1y" | "30d" | "7d" | "24h";
        /** @description maximum number of points */
        points?: number;
      };
      path: {
        /** @description name of the series */
        series: "difficulty" | "hashrate" | "blockInterval" | "blockSize" | "blockWeight" | "txCount" | "fees" | "feeRate" | "supply" | "mempoolCount" | "mempoolVsize" | "peers";
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Chart"];
        };
      };
    };
  };
  /** Supply: coins in the UTXO set */
  getSupplyCirculating: {
    responses: {
      /** @description success */
      200: {
        content: {
          "text/plain": string;
        };
      };
    };
  };
  /** Supply: coins issued by the schedule */
  getSupplyIssued: {
    responses: {
      /** @description success */
      200: {
        content: {
          "text/plain": string;
        };
      };
    };
  };
  /** Supply: same as circulating */
  getSupplyTotal: {
    responses: {
      /** @description success */
      200: {
        content: {
          "text/plain": string;
        };
      };
    };
  };
  /** Supply: maximum number of coins */
  getSupplyMax: {
    responses: {
      /** @description success */
      200: {
        content: {
          "text/plain": string;
        };
      };
    };
  };
  /**
   * Replacements of a transaction within the last day
   * @description All transactions that the newest replacement has replaced, directly or through others, newest first. `truncated` says that there are more than the 100 newest. The history is in memory: it covers a day at most and ends with the process.
   */
  getTxReplacements: {
    parameters: {
      path: {
        /** @description transaction id, 64 hex digits */
        txid: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Replacements"];
        };
      };
    };
  };
  /** Broadcast a transaction */
  broadcastTx: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["TxBody"];
        "text/plain": string;
        "application/octet-stream": unknown;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Broadcast"];
        };
      };
    };
  };
  /** Whether the mempool would accept transactions */
  testTxs: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["TxsBody"];
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["TestResult"][];
        };
      };
    };
  };
  /** Broadcast a child with its parents */
  broadcastPackage: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["TxsBody"];
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["PackageResult"];
        };
      };
    };
  };
  /** The mempool */
  getMempool: {
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Mempool"];
        };
      };
    };
  };
  /** Ids of unconfirmed transactions, in the order of arrival */
  getMempoolTxids: {
    parameters: {
      query?: {
        /** @description entries on a page */
        limit?: number;
        /** @description nextCursor of the page before */
        cursor?: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["MempoolTxidsPage"];
        };
      };
    };
  };
  /** The last transactions accepted */
  getMempoolRecent: {
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["RecentTx"][];
        };
      };
    };
  };
  /**
   * The next blocks, as they would be mined from the mempool
   * @description At most a second old, or the last ones for at most a minute while a block is validated. The WebSocket sends changes as `mempoolBlocks`.
   */
  getMempoolBlocks: {
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["ProjectedBlock"][];
        };
      };
    };
  };
  /** Fee rates */
  getFees: {
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Fees"];
        };
      };
    };
  };
  /** The node and its chain */
  getInfo: {
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Info"];
        };
      };
    };
  };
  /** Connected peers */
  getPeers: {
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Peers"];
        };
      };
    };
  };
  /** The listing record of the coin */
  getListing: {
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Listing"];
        };
      };
    };
  };
  /** Events of the chain and the mempool */
  getEvents: {
    parameters: {
      query?: {
        /** @description lastCursor of the page before, or data.cursor of an event: the page begins right behind it. Or lastSeq of the page before. Without it the page begins at the current end of the log */
        after?: string;
        /** @description entries on a page; behind a seq, those of one more event may come with them */
        limit?: number;
        /** @description types of events, separated by commas */
        types?: string;
        /** @description seconds to wait if there is no event */
        wait?: number;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["EventsPage"];
        };
      };
    };
  };
  /** Watches of this key, oldest first */
  getWatches: {
    parameters: {
      query?: {
        /** @description address, script, tx, outpoint */
        kind?: string;
        /** @description an address, a script, a transaction id or txid:n */
        value?: string;
        /** @description exactly this label */
        label?: string;
        /** @description entries on a page */
        limit?: number;
        /** @description nextCursor of the page before */
        cursor?: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["WatchesPage"];
        };
      };
    };
  };
  /** Watch something, or change what is reported of it */
  putWatches: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["WatchRequest"] | components["schemas"]["WatchesRequest"];
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["StoredWatch"] | components["schemas"]["StoredWatches"];
        };
      };
    };
  };
  /** Stop watching: the ids that are named, or all */
  removeWatches: {
    parameters: {
      query?: {
        /** @description up to 1000 ids, by comma */
        ids?: string;
        /** @description true removes all of this key */
        all?: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["RemoveWatchesRequest"];
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["RemovedWatches"];
        };
      };
    };
  };
  /** One watch */
  getWatch: {
    parameters: {
      path: {
        /** @description id of a watch */
        id: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Watch"];
        };
      };
    };
  };
  /** Stop watching one */
  removeWatch: {
    parameters: {
      path: {
        /** @description id of a watch */
        id: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["RemovedWatches"];
        };
      };
    };
  };
  /** A ticket for one WebSocket: GET /ws?ticket=…, once, within a minute */
  createWsTicket: {
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Ticket"];
        };
      };
    };
  };
  /** Rights, limits and present use of the caller */
  getConfigLimits: {
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Limits"];
        };
      };
    };
  };
  /** Webhooks of this key, oldest first */
  getWebhooks: {
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Webhooks"];
        };
      };
    };
  };
  /**
   * Deliver events to a URL
   * @description The node posts the events of these types, and of the watches of the key, in their order and at least once. Each delivery is signed as the Standard Webhooks specification says. The key also needs the scope `read`, and `wallet.read` for walletTransaction. Without `secret` the node makes one and shows it this once. Deliveries begin behind `after`, or at the present end of the log.
   */
  createWebhook: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["WebhookRequest"];
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["WebhookWithSecret"];
        };
      };
    };
  };
  /** One webhook, with its lag and its last error */
  getWebhook: {
    parameters: {
      path: {
        /** @description id of a webhook */
        id: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Webhook"];
        };
      };
    };
  };
  /** End a webhook */
  removeWebhook: {
    parameters: {
      path: {
        /** @description id of a webhook */
        id: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["RemovedWebhook"];
        };
      };
    };
  };
  /** Stop the deliveries of a webhook for a while */
  pauseWebhook: {
    parameters: {
      path: {
        /** @description id of a webhook */
        id: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Webhook"];
        };
      };
    };
  };
  /** Continue a webhook that is paused, disabled, or waits after a failure */
  resumeWebhook: {
    parameters: {
      path: {
        /** @description id of a webhook */
        id: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Webhook"];
        };
      };
    };
  };
  /** Deliver everything behind a cursor again */
  replayWebhook: {
    parameters: {
      path: {
        /** @description id of a webhook */
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["WebhookReplay"];
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Webhook"];
        };
      };
    };
  };
  /** Replace the secret of a webhook; the previous one signs as well for a time */
  replaceWebhookSecret: {
    parameters: {
      path: {
        /** @description id of a webhook */
        id: string;
      };
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["WebhookSecretRequest"];
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["WebhookWithSecret"];
        };
      };
    };
  };
  /** Send one message of the type test, and report the outcome */
  testWebhook: {
    parameters: {
      path: {
        /** @description id of a webhook */
        id: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["WebhookTest"];
        };
      };
    };
  };
  /** The session of the cookie, with the token that a page sends with every POST and DELETE */
  getSession: {
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Session"];
        };
      };
    };
  };
  /**
   * Open a session with a code that `obverse login` prints
   * @description The reply sets the cookie `obverse_session`, which counts for /api, /metrics and /ws, and never for JSON-RPC. A session ends after eight hours, or thirty minutes without a request; with the scope admin after thirty minutes.
   */
  getLogIn: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["Login"];
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["LoggedIn"];
        };
      };
    };
  };
  /** End the session of the cookie, with its WebSockets */
  getLogOut: {
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["LoggedOut"];
        };
      };
    };
  };
  /** API keys without their secrets, oldest first, with revoked and expired ones */
  getKeys: {
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Keys"];
        };
      };
    };
  };
  /** Audit log: administrative, spending and key-management calls, newest first */
  getAudit: {
    parameters: {
      query?: {
        /** @description id of a key, static, cookie, rpcauth:USER, session:ID, anonymous or cli:UID */
        who?: string;
        /** @description a method, such as sendtoaddress */
        method?: string;
        /** @description Unix seconds; nothing older */
        since?: number;
        /** @description entries on a page */
        limit?: number;
        /** @description nextCursor of the page before */
        cursor?: string;
      };
    };
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["AuditPage"];
        };
      };
    };
  };
}

/** Method and path of each operation. */
export const OPERATIONS = {
  getHealthz: ['GET', '/healthz'],
  getReadyz: ['GET', '/readyz'],
  getMetrics: ['GET', '/metrics'],
  getHealth: ['GET', '/api/health'],
  getBlock: ['GET', '/api/block/{hash}'],
  getBlockByHeight: ['GET', '/api/block-by-height/{height}'],
  getBlocks: ['GET', '/api/blocks'],
  getBlocksTip: ['GET', '/api/blocks/tip'],
  getBlockTxs: ['GET', '/api/block/{hash}/txs'],
  getBlockTxids: ['GET', '/api/block/{hash}/txids'],
  getBlockHeader: ['GET', '/api/block/{hash}/header'],
  getBlockRaw: ['GET', '/api/block/{hash}/raw'],
  getBlockHex: ['GET', '/api/block/{hash}/hex'],
  getBlockStatus: ['GET', '/api/block/{hash}/status'],
  getHeaders: ['GET', '/api/headers'],
  getTx: ['GET', '/api/tx/{txid}'],
  getTxProof: ['GET', '/api/tx/{txid}/proof'],
  getTxStatus: ['GET', '/api/tx/{txid}/status'],
  getTxHex: ['GET', '/api/tx/{txid}/hex'],
  getTxRaw: ['GET', '/api/tx/{txid}/raw'],
  getTxsStatus: ['POST', '/api/txs/status'],
  getTxsDetails: ['POST', '/api/txs/details'],
  getTxOutspends: ['GET', '/api/tx/{txid}/outspends'],
  getTxOutspend: ['GET', '/api/tx/{txid}/outspend/{n}'],
  getTxCpfp: ['GET', '/api/tx/{txid}/cpfp'],
  getBalance: ['GET', '/api/balance/{address}'],
  getBalances: ['POST', '/api/balances'],
  getAddress: ['GET', '/api/address/{address}'],
  getAddressTxs: ['GET', '/api/address/{address}/txs'],
  getAddressUtxos: ['GET', '/api/address/{address}/utxos'],
  getUtxos: ['POST', '/api/utxos'],
  getXpub: ['POST', '/api/xpub'],
  getXpubTxs: ['POST', '/api/xpub/txs'],
  getXpubUtxos: ['POST', '/api/xpub/utxos'],
  validateAddress: ['GET', '/api/validate/{address}'],
  getMempoolAddress: ['GET', '/api/mempool/address/{address}'],
  getDifficulty: ['GET', '/api/difficulty'],
  getChart: ['GET', '/api/chart/{series}'],
  getSupplyCirculating: ['GET', '/api/supply/circulating'],
  getSupplyIssued: ['GET', '/api/supply/issued'],
  getSupplyTotal: ['GET', '/api/supply/total'],
  getSupplyMax: ['GET', '/api/supply/max'],
  getTxReplacements: ['GET', '/api/tx/{txid}/replacements'],
  broadcastTx: ['POST', '/api/tx'],
  testTxs: ['POST', '/api/tx/test'],
  broadcastPackage: ['POST', '/api/txs/package'],
  getMempool: ['GET', '/api/mempool'],
  getMempoolTxids: ['GET', '/api/mempool/txids'],
  getMempoolRecent: ['GET', '/api/mempool/recent'],
  getMempoolBlocks: ['GET', '/api/mempool/blocks'],
  getFees: ['GET', '/api/fees'],
  getInfo: ['GET', '/api/info'],
  getPeers: ['GET', '/api/peers'],
  getListing: ['GET', '/api/listing'],
  getEvents: ['GET', '/api/events'],
  getWatches: ['GET', '/api/watches'],
  putWatches: ['POST', '/api/watches'],
  removeWatches: ['DELETE', '/api/watches'],
  getWatch: ['GET', '/api/watches/{id}'],
  removeWatch: ['DELETE', '/api/watches/{id}'],
  createWsTicket: ['POST', '/api/ws-ticket'],
  getConfigLimits: ['GET', '/api/config/limits'],
  getWebhooks: ['GET', '/api/webhooks'],
  createWebhook: ['POST', '/api/webhooks'],
  getWebhook: ['GET', '/api/webhooks/{id}'],
  removeWebhook: ['DELETE', '/api/webhooks/{id}'],
  pauseWebhook: ['POST', '/api/webhooks/{id}/pause'],
  resumeWebhook: ['POST', '/api/webhooks/{id}/resume'],
  replayWebhook: ['POST', '/api/webhooks/{id}/replay'],
  replaceWebhookSecret: ['POST', '/api/webhooks/{id}/secret'],
  testWebhook: ['POST', '/api/webhooks/{id}/test'],
  getLogIn: ['POST', '/api/session'],
  getSession: ['GET', '/api/session'],
  getLogOut: ['DELETE', '/api/session'],
  getKeys: ['GET', '/api/keys'],
  getAudit: ['GET', '/api/audit'],
} as const satisfies Record<string, readonly [method: string, path: string]>;

export type Schemas = components['schemas'];
export type OperationName = keyof typeof OPERATIONS & keyof operations;

type Part<N extends OperationName, P extends 'path' | 'query'> = operations[N] extends {
  parameters: { [K in P]?: infer T };
}
  ? NonNullable<T>
  : unknown;
type Body<N extends OperationName> = operations[N] extends { requestBody: { content: { 'application/json': infer T } } }
  ? { body: T }
  : unknown;

/** Parameters of the path and the query of an operation, by name, and its `body`. */
export type Input<N extends OperationName> = Part<N, 'path'> & Part<N, 'query'> & Body<N>;

/** The reply of success of an operation: JSON, bytes or text. */
export type Output<N extends OperationName> = operations[N]['responses'][200] extends { content: infer C }
  ? C extends { 'application/json': infer T }
    ? T
    : C extends { 'application/octet-stream': unknown }
      ? Uint8Array
      : string
  : never;

/**
 * Sends one request, and resolves with its reply, whatever the status of that is. A redirect is a reply as well and is not
 * followed: the headers hold a key, which is for the node alone.
 */
export function sendOperation<N extends OperationName>(
  url: string,
  name: N,
  input: Input<N>,
  init: { readonly headers?: Readonly<Record<string, string>>; readonly signal?: AbortSignal } = {},
): Promise<Response> {
  const [method, template] = OPERATIONS[name];
  const { body, ...rest } = input as Readonly<Record<string, unknown>>;
  const query = new URLSearchParams();
  let path: string = template;
  for (const [key, value] of Object.entries(rest)) {
    if (path.includes(`{${key}}`)) path = path.replace(`{${key}}`, encodeURIComponent(String(value)));
    else if (value !== undefined) query.set(key, String(value));
  }
  const search = query.size > 0 ? `?${query}` : '';
  return fetch(url + path + search, {
    method,
    redirect: 'manual',
    ...init,
    ...(body !== undefined && {
      body: JSON.stringify(body),
      headers: { ...init.headers, 'content-type': 'application/json' },
    }),
  });
}
