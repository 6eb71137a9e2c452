// `npm run generate:clients` writes this file from the OpenAPI document of the node.

export interface paths {
  "/healthz": {
    /** Liveness: 200 as long as the process serves */
    get: operations["healthz"];
  };
  "/readyz": {
    /** Readiness: 200 when every check is ok, else 503 */
    get: operations["readyz"];
  };
  "/metrics": {
    /** Prometheus metrics */
    get: operations["metrics"];
  };
  "/api/health": {
    /** Health */
    get: operations["health"];
  };
  "/api/block/{hash}": {
    /** Block by hash */
    get: operations["block"];
  };
  "/api/block-by-height/{height}": {
    /** Block of the active chain by height */
    get: operations["blockByHeight"];
  };
  "/api/blocks": {
    /** Blocks of the active chain, newest first */
    get: operations["blocks"];
  };
  "/api/blocks/tip": {
    /** The tip of the active chain */
    get: operations["blocksTip"];
  };
  "/api/block/{hash}/txs": {
    /** Transactions of a block, in block order */
    get: operations["blockTxs"];
  };
  "/api/block/{hash}/txids": {
    /** Transaction ids of a block */
    get: operations["blockTxids"];
  };
  "/api/block/{hash}/header": {
    /** Header of a block as hex */
    get: operations["blockHeader"];
  };
  "/api/block/{hash}/raw": {
    /** A block as bytes */
    get: operations["blockRaw"];
  };
  "/api/block/{hash}/hex": {
    /** A block as hex */
    get: operations["blockHex"];
  };
  "/api/block/{hash}/status": {
    /** Whether a block is in the active chain */
    get: operations["blockStatus"];
  };
  "/api/headers": {
    /** Headers of the active chain */
    get: operations["headers"];
  };
  "/api/tx/{txid}": {
    /** Transaction by id */
    get: operations["tx"];
  };
  "/api/tx/{txid}/proof": {
    /** Merkle proof that a transaction is in a block */
    get: operations["txProof"];
  };
  "/api/tx/{txid}/status": {
    /** Whether a transaction is confirmed, and in which block */
    get: operations["txStatus"];
  };
  "/api/tx/{txid}/hex": {
    /** A transaction as hex */
    get: operations["txHex"];
  };
  "/api/tx/{txid}/raw": {
    /** A transaction as bytes */
    get: operations["txRaw"];
  };
  "/api/txs/status": {
    /** The status of many transactions */
    post: operations["txsStatus"];
  };
  "/api/txs/details": {
    /**
     * Many transactions with the outputs that they spend
     * @description Up to 1,000 transactions at one tip, each as in `GET /api/tx/{txid}`, in the order of the request. An id that is given twice counts once. A reply holds transactions of one megabyte; the ids of the others are in `remaining` and are sent with the next request.
     */
    post: operations["txsDetails"];
  };
  "/api/tx/{txid}/outspends": {
    /**
     * The inputs that spend the outputs of a transaction
     * @description Inputs of the chain and of the mempool. Needs the spender index (`index.spender`), and the transaction index for a confirmed transaction.
     */
    get: operations["txOutspends"];
  };
  "/api/tx/{txid}/outspend/{n}": {
    /**
     * The input that spends an output of a transaction
     * @description Inputs of the chain and of the mempool. Needs the spender index (`index.spender`), and the transaction index for a confirmed transaction.
     */
    get: operations["txOutspend"];
  };
  "/api/tx/{txid}/cpfp": {
    /**
     * Unconfirmed relatives of a transaction, and the feerate that counts for a miner
     * @description The effective feerate is that of the chunk in which a miner includes the transaction, so a child that pays more raises it. A confirmed transaction has no relatives here.
     */
    get: operations["txCpfp"];
  };
  "/api/balance/{address}": {
    /** Balance of an address */
    get: operations["balance"];
  };
  "/api/balances": {
    /**
     * Balances of many addresses
     * @description All of them at one tip, each as in `GET /api/balance/{address}`.
     */
    post: operations["balances"];
  };
  "/api/address/{address}": {
    /** An address and its balance */
    get: operations["address"];
  };
  "/api/address/{address}/txs": {
    /** Transactions of an address */
    get: operations["addressTxs"];
  };
  "/api/address/{address}/utxos": {
    /** Unspent outputs of an address */
    get: operations["addressUtxos"];
  };
  "/api/utxos": {
    /**
     * Unspent outputs of many addresses
     * @description One list in the order of the chain, the mempool last, at one tip. An address that is given twice counts once. The next page is the same request with the path and query of `next`; its addresses may be in another order.
     */
    post: operations["utxos"];
  };
  "/api/validate/{address}": {
    /** Whether an address is valid */
    get: operations["validate"];
  };
  "/api/mempool/address/{address}": {
    /** Unconfirmed transactions of an address */
    get: operations["mempoolAddress"];
  };
  "/api/difficulty": {
    /** Difficulty now, next and before */
    get: operations["difficulty"];
  };
  "/api/supply/circulating": {
    /** Supply: coins in the UTXO set */
    get: operations["supplyCirculating"];
  };
  "/api/supply/issued": {
    /** Supply: coins issued by the schedule */
    get: operations["supplyIssued"];
  };
  "/api/supply/total": {
    /** Supply: same as circulating */
    get: operations["supplyTotal"];
  };
  "/api/supply/max": {
    /** Supply: maximum number of coins */
    get: operations["supplyMax"];
  };
  "/api/tx/{txid}/replacements": {
    /**
     * Replacements of a transaction within the last day
     * @description All transactions that the newest replacement has replaced, directly or through others, newest first. `truncated` says that there are more than the 100 newest. The history is in memory: it covers a day at most and ends with the process.
     */
    get: operations["txReplacements"];
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
    get: operations["mempool"];
  };
  "/api/mempool/txids": {
    /** Ids of unconfirmed transactions, in the order of arrival */
    get: operations["mempoolTxids"];
  };
  "/api/mempool/recent": {
    /** The last transactions accepted */
    get: operations["mempoolRecent"];
  };
  "/api/mempool/blocks": {
    /**
     * The next blocks, as they would be mined from the mempool
     * @description At most a second old, or the last ones for at most a minute while a block is validated. The WebSocket sends changes as `mempoolBlocks`.
     */
    get: operations["mempoolBlocks"];
  };
  "/api/fees": {
    /** Fee rates */
    get: operations["fees"];
  };
  "/api/info": {
    /** The node and its chain */
    get: operations["info"];
  };
  "/api/peers": {
    /** Connected peers */
    get: operations["peers"];
  };
  "/api/listing": {
    /** The listing record of the coin */
    get: operations["listing"];
  };
  "/api/events": {
    /** Events of the chain and the mempool */
    get: operations["events"];
  };
  "/api/watches": {
    /** Watches of this key, oldest first */
    get: operations["watches"];
    /** Watch something, or change what is reported of it */
    post: operations["putWatches"];
    /** Stop watching: the ids that are named, or all */
    delete: operations["removeWatches"];
  };
  "/api/watches/{id}": {
    /** One watch */
    get: operations["watch"];
    /** Stop watching one */
    delete: operations["removeWatch"];
  };
  "/api/ws-ticket": {
    /** A ticket for one WebSocket: GET /ws?ticket=…, once, within a minute */
    post: operations["wsTicket"];
  };
  "/api/config/limits": {
    /** Rights, limits and present use of the caller */
    get: operations["configLimits"];
  };
  "/api/webhooks": {
    /** Webhooks of this key, oldest first */
    get: operations["webhooks"];
    /**
     * Deliver events to a URL
     * @description The node posts the events of these types, and of the watches of the key, in their order and at least once. Each delivery is signed as the Standard Webhooks specification says. The key also needs the scope `read`, and `wallet.read` for walletTransaction. Without `secret` the node makes one and shows it this once. Deliveries begin behind `after`, or at the present end of the log.
     */
    post: operations["createWebhook"];
  };
  "/api/webhooks/{id}": {
    /** One webhook, with its lag and its last error */
    get: operations["webhook"];
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
  "/api/audit": {
    /** Audit log: administrative, spending and key-management calls, newest first */
    get: operations["audit"];
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
      /** @description Bitcoin Core's name of the script type */
      type: string;
      script: components["schemas"]["Script"];
      /** @description in the UTXO set, with immature coinbases, satoshis */
      confirmed: number;
      /** @description received minus spent in the mempool, satoshis */
      unconfirmed: number;
      /** @description confirmed plus unconfirmed, satoshis */
      total: number;
      /** @description coinbases of fewer than 100 confirmations, satoshis */
      immature: number;
      /** @description received in the mempool, satoshis */
      pendingReceived: number;
      /** @description spent in the mempool, satoshis */
      pendingSpent: number;
      /** @description confirmed receipts of all time, satoshis */
      received: number;
      /** @description confirmed spends of all time, satoshis */
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
      type: string | null;
      witnessVersion: number | null;
      script: components["schemas"]["Script"] | null;
      reason: string | null;
      /** @description characters that are likely wrong */
      errorLocations: number[];
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
      /** @description Unix seconds of the event */
      time: number;
      /** @description order among the messages that are derived from one event */
      sub: number;
      /** @description an address, or script:<hex> */
      address: string;
      txid: string;
      status: components["schemas"]["TxStatus"];
      /** @description satoshis that the outputs pay to the address */
      received: number;
      /** @description satoshis that the inputs spend from the address */
      sent: number;
      outputs: {
          n: number;
          /** @description satoshis */
          value: number;
        }[];
      inputs: {
          n: number;
          txid: string;
          vout: number;
          /** @description satoshis */
          value: number;
        }[];
      /** @enum {string} */
      phase: "mempool" | "confirmed" | "reverted" | "removed";
      watchId: string | null;
    };
    /** @description a transaction as one address sees it; tx only with details=full */
    AddressTx: {
      txid: string;
      status: components["schemas"]["TxStatus"];
      /** @description of the block, or when the mempool accepted it */
      time: number;
      /** @description satoshis */
      received: number;
      /** @description satoshis */
      sent: number;
      /** @description received minus sent, satoshis */
      net: number;
      fee: number | null;
      vsize: number | null;
      isCoinbase: boolean;
      signalsRbf: boolean | null;
      outputs: {
          n: number;
          /** @description satoshis */
          value: number;
        }[] | null;
      inputs: {
          n: number;
          txid: string;
          vout: number;
          /** @description satoshis */
          value: number;
        }[] | null;
      tx?: components["schemas"]["Tx"] | null;
    };
    AddressTxsPage: {
      /** @description in canonical form */
      address: string;
      total: {
        confirmed: number;
        mempool: number;
      };
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
      /** @description satoshis */
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
    AllUtxosPage: {
      total: {
        count: number;
        /** @description satoshis */
        value: number;
      };
      tip: components["schemas"]["Tip"];
      items: components["schemas"]["AddressUtxo"][];
      nextCursor: string | null;
      next: string | null;
    };
    AuditEntry: {
      id: number;
      /** @description Unix seconds */
      time: number;
      /** @description id of a key, static, cookie, rpcauth:USER or cli:UID */
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
      /** @description in the UTXO set, with immature coinbases, satoshis */
      confirmed: number;
      /** @description received minus spent in the mempool, satoshis */
      unconfirmed: number;
      /** @description confirmed plus unconfirmed, satoshis */
      total: number;
      /** @description coinbases of fewer than 100 confirmations, satoshis */
      immature: number;
      /** @description received in the mempool, satoshis */
      pendingReceived: number;
      /** @description spent in the mempool, satoshis */
      pendingSpent: number;
      /** @description confirmed receipts of all time, satoshis */
      received: number;
      /** @description confirmed spends of all time, satoshis */
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
      /** @description Unix seconds */
      time: number;
      /** @description median time past, BIP-113 */
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
      /** @description new coins by the schedule, satoshis */
      subsidy: number;
      fees: number | null;
      /** @description outputs of the coinbase, satoshis */
      reward: number;
      inputs: number;
      outputs: number;
      /** @description outputs without the coinbase, satoshis */
      valueOut: number;
      coinbase: {
        txid: string;
        /** @description hex */
        scriptHex: string;
        /** @description printable ASCII characters of the script */
        text: string;
      };
      /** @description in block order; left out of summaries */
      txids?: string[];
      receivedAt: number | null;
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
      /** @description Unix seconds of the event */
      time: number;
      hash: string;
      /** @description height of a block */
      height: number;
      previousHash: string | null;
      txids: string[];
      /** @description 1 for the old tip */
      depth: number;
      /** @description the reply of GET /api/block/{hash}, with the details full */
      block?: {
        [key: string]: unknown;
      };
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
      /** @description Unix seconds */
      time: number;
      /** @description median time past, BIP-113 */
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
      /** @enum {string} */
      status: "accepted" | "already_in_mempool" | "already_confirmed";
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
      /** @description Unix seconds of the event */
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
      chunk: {
        /** @description satoshis, with deltas of prioritisetransaction */
        fee: number;
        /** @description virtual bytes */
        vsize: number;
        /** @description in the order of a block */
        txids: string[];
      } | null;
      cluster: {
        count: number;
        /** @description virtual bytes */
        vsize: number;
      } | null;
      tip: components["schemas"]["Tip"];
    };
    CpfpTx: {
      txid: string;
      /** @description satoshis */
      fee: number;
      /** @description virtual bytes */
      vsize: number;
      /** @description satoshis per virtual byte */
      feeRate: number;
    };
    Difficulty: {
      /** @description height of a block */
      height: number;
      bits: string;
      /** @description the target as a number of 256 bits */
      target: string;
      difficulty: number;
      next: {
        /** @description of the next retarget */
        height: number;
        difficulty: number;
        /** @description 0.01 is one percent more */
        change: number;
        /** @description Unix seconds */
        time: number;
      };
      blocksToRetarget: number;
      history: {
          /** @description height of a block */
          height: number;
          /** @description Unix seconds */
          time: number;
          difficulty: number;
        }[];
      tip: components["schemas"]["Tip"];
    };
    /** @description why there is no answer */
    Error: {
      error: {
        /**
         * @description stable
         * @enum {string}
         */
        code: "invalid_request" | "invalid_parameter" | "invalid_hash" | "invalid_txid" | "invalid_height" | "invalid_address" | "invalid_cursor" | "tx_decode_failed" | "missing_credentials" | "invalid_credentials" | "insufficient_scope" | "ip_not_allowed" | "origin_not_allowed" | "not_found" | "block_not_found" | "tx_not_found" | "method_not_allowed" | "tx_unconfirmed" | "cursor_reorged" | "limit_exceeded" | "block_pruned" | "payload_too_large" | "unsupported_media_type" | "misdirected_request" | "tx_rejected" | "upgrade_required" | "rate_limited" | "too_many_connections" | "audit_unavailable" | "internal_error" | "feature_disabled" | "warming_up" | "syncing" | "index_not_ready" | "overloaded" | "shutting_down";
        /** @description for humans */
        message: string;
        details: {
          [key: string]: unknown;
        } | null;
        /** @description also in X-Request-Id and in the log of the node */
        requestId: string;
      };
    };
    EventGap: {
      /** @enum {string} */
      scope: "mempool" | "all";
      fromSeq: number;
      toSeq: number;
      /** @description number of the newest event of the chain */
      lastChainSeq: number;
      /** @description where to continue behind the gap */
      cursor: string;
    };
    EventsPage: {
      items: (components["schemas"]["NewBlock"] | components["schemas"]["NewTransaction"] | components["schemas"]["MempoolUpdate"] | components["schemas"]["BlockDisconnected"] | components["schemas"]["Reorg"] | components["schemas"]["TransactionRemoved"] | components["schemas"]["AddressTransaction"] | components["schemas"]["Confirmation"] | components["schemas"]["WalletTransaction"])[];
      /** @description number of the last event that is on this page to its end */
      lastSeq: number;
      /** @description the next page begins behind it */
      lastCursor: string;
      gap: components["schemas"]["EventGap"] | null;
    };
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
      /** @enum {string} */
      estimator: "mempool_policy" | "block_policy" | "floor";
      /** @description by blocks to wait: 1, 2, 3, 6, 12, 25, 144, 504, 1008 */
      targets: {
        [key: string]: number;
      };
      tip: components["schemas"]["Tip"];
      /** @description Unix seconds */
      updatedAt: number;
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
      /** @description Unix seconds */
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
    Info: {
      service: string;
      version: string;
      /** @description BIP-14 */
      userAgent: string;
      /** @enum {string} */
      network: "main" | "testnet4" | "signet" | "regtest";
      /** @description height of a block */
      height: number;
      bestBlockHash: string;
      /** @description height of the best header */
      headers: number;
      difficulty: number;
      bits: string;
      /** @description work of the active chain */
      chainwork: string;
      /** @description Unix seconds */
      time: number;
      /** @description median time past, BIP-113 */
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
      indexes: {
        tx: components["schemas"]["IndexState"];
        address: components["schemas"]["IndexState"];
        spender: components["schemas"]["IndexState"];
        coinStats: components["schemas"]["IndexState"];
        filter: components["schemas"]["IndexState"];
      };
      protocolVersion: number;
      /** @description seconds */
      uptime: number;
      warnings: string[];
    };
    /** @description the rights and limits of the caller */
    Limits: {
      key: {
        /** @description key, static, cookie or rpcauth */
        kind: string;
        /** @description public id of the key */
        id: string;
        scopes: string[];
        wallets: string[] | null;
        methods: string[] | null;
      };
      rate: {
        perSecond: number;
        burst: number;
        /** @description calls that are possible now */
        remaining: number;
        /** @description seconds until all of the burst is available */
        resetAfter: number;
      } | null;
      use: {
        /** @description open WebSocket connections */
        sockets: number;
        storedWatches: number;
      };
      limits: {
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
      /** @description entries on a page of each list */
      pages: {
        [key: string]: {
          default: number;
          max: number;
        };
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
      unit: {
        name: string;
        baseName: string;
        basePerCoin: number;
      };
      network: string;
      isTestnet: boolean;
      genesisHash: string;
      /** @description Unix seconds */
      genesisTime: number;
      networkMagic: string;
      consensus: {
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
      supply: {
        max: string;
        maxBase: number;
        issued: string;
        issuedBase: number;
        circulating: string;
        circulatingBase: number;
        unspendable: string;
        unspendableBase: number;
        /** @description height of a block */
        height: number;
        blockHash: string;
        /** @description Unix seconds */
        time: number;
      };
      emission: {
        initialSubsidy: string;
        currentSubsidy: string;
        halvingInterval: number;
        /** @description height of a block */
        nextHalvingHeight: number;
        blocksToHalving: number;
        /** @description Unix seconds */
        estimatedHalvingTime: number;
      };
      addresses: {
        formats: {
            type: string;
            encoding: string;
            version?: number;
            prefix: string;
          }[];
        bech32Hrp: string;
        wifPrefix: number;
        memoRequired: boolean;
      };
      hd: {
        slip44: number;
        bip32Public: string;
        bip32Private: string;
        purposes: number[];
      };
      ports: {
        p2p: number;
        http: number;
      };
      fees: {
        /** @description satoshis per virtual byte */
        minRelayFeeRate: number;
        /** @description satoshis per virtual byte */
        incrementalFeeRate: number;
        /** @description satoshis per virtual byte */
        dustRelayFeeRate: number;
        unit: string;
      };
      confirmations: {
        deposit: number;
        depositLarge: number;
        withdrawal: number;
        coinbase: number;
      };
      software: {
        name: string;
        version: string;
        userAgent: string;
        protocolVersion: number;
        license: string | null;
      };
      links: {
        website: string | null;
        explorer: string | null;
        explorerTx: string | null;
        explorerAddress: string | null;
        source: string | null;
        whitepaper: string | null;
        support: string | null;
      };
      endpoints: {
        [key: string]: string;
      };
      features: {
        [key: string]: boolean;
      };
      status: {
        /** @description height of a block */
        height: number;
        synced: boolean;
        /** @description Unix seconds */
        tipTime: number;
      };
    };
    Mempool: {
      count: number;
      /** @description virtual bytes of all transactions */
      vsize: number;
      /** @description bytes of all transactions */
      size: number;
      /** @description bytes of memory */
      usage: number;
      /** @description bytes of memory */
      maxUsage: number;
      /** @description satoshis */
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
      clusterLimit: {
        count: number;
        vsize: number;
      };
      tip: components["schemas"]["Tip"];
    };
    MempoolAddressPage: {
      /** @description in canonical form */
      address: string;
      count: number;
      /** @description satoshis */
      received: number;
      /** @description satoshis */
      sent: number;
      /** @description satoshis */
      net: number;
      tip: components["schemas"]["Tip"];
      items: components["schemas"]["AddressTx"][];
      nextCursor: string | null;
      next: string | null;
    };
    MempoolFacts: {
      /** @description Unix seconds */
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
      /** @description Unix seconds of the event */
      time: number;
      count: number;
      /** @description virtual bytes of all transactions */
      vsize: number;
      /** @description bytes of all transactions */
      size: number;
      /** @description bytes of memory */
      usage: number;
      /** @description satoshis */
      totalFee: number;
      /** @description satoshis per virtual byte to enter now */
      minFeeRate: number;
      /** @description since the last update */
      added: number;
      /** @description since the last update */
      removed: number;
      tip: {
        /** @description height of a block */
        height: number;
        hash: string;
      } | null;
    };
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
      /** @description Unix seconds of the event */
      time: number;
      hash: string;
      /** @description height of a block */
      height: number;
      previousHash: string | null;
      version: number;
      merkleRoot: string;
      /** @description Unix seconds */
      blockTime: number;
      /** @description median of the last eleven blocks, BIP-113 */
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
      /** @description satoshis */
      fees: number;
      /** @description satoshis */
      subsidy: number;
      /** @description satoshis that the coinbase pays */
      reward: number;
      /** @description 1 */
      confirmations: number;
      /** @description whether the block joined the chain in a reorganization */
      reorg: boolean;
      initialSync: boolean;
      /** @description height of the best header */
      headers: number;
      /** @description the reply of GET /api/block/{hash}, with the details full */
      block?: {
        [key: string]: unknown;
      };
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
      /** @description Unix seconds of the event */
      time: number;
      txid: string;
      wtxid: string;
      /** @description bytes */
      size: number;
      /** @description virtual bytes */
      vsize: number;
      /** @description weight units, BIP-141 */
      weight: number;
      /** @description satoshis */
      fee: number;
      /** @description satoshis per virtual byte */
      feeRate: number;
      /** @description satoshis */
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
      /** @description the reply of GET /api/tx/{txid}, with the details full */
      tx?: {
        [key: string]: unknown;
      };
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
      /** @description accepted, already_in_mempool, rejected, or not validated */
      status: string;
      vsize: number | null;
      fee: number | null;
      feeRate: number | null;
      effectiveFeeRate: number | null;
      reason: string | null;
      class: ("consensus" | "script" | "policy" | "fee" | "missing-inputs" | "conflict" | "premature") | null;
      retryable: boolean | null;
      debug: string | null;
    };
    PackageResult: {
      /** @description success, or why the package was rejected */
      packageMessage: string;
      /** @description by wtxid */
      results: {
        [key: string]: components["schemas"]["PackageMember"];
      };
      replaced: string[];
    };
    Peer: {
      id: number;
      address: string;
      network: string;
      inbound: boolean;
      /** @description Bitcoin Core's name */
      connectionType: string;
      /** @enum {string} */
      transport: "detecting" | "v1" | "v2";
      services: string;
      servicesNames: string[];
      version: number;
      userAgent: string;
      /** @description Unix seconds */
      connectedAt: number;
      /** @description Unix seconds */
      lastSend: number;
      /** @description Unix seconds */
      lastRecv: number;
      bytesSent: number;
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
    Peers: {
      count: number;
      inbound: number;
      outbound: number;
      items: components["schemas"]["Peer"][];
    };
    ProjectedBlock: {
      txCount: number;
      /** @description virtual bytes */
      vsize: number;
      /** @description weight units */
      weight: number;
      /** @description satoshis */
      totalFee: number;
      /** @description satoshis per virtual byte */
      medianFeeRate: number;
      /** @description satoshis per virtual byte, lowest first */
      feeRange: number[];
    };
    Readiness: {
      /** @enum {string} */
      status: "ok" | "degraded" | "fail";
      service: string;
      /** @description Unix seconds */
      time: number;
      durationMs: number;
      checks: {
        [key: string]: {
          /** @enum {string} */
          status: "ok" | "degraded" | "fail";
          [key: string]: unknown;
        };
      };
    };
    RecentTx: {
      txid: string;
      /** @description satoshis */
      fee: number;
      vsize: number;
      /** @description satoshis per virtual byte */
      feeRate: number;
      /** @description satoshis */
      valueOut: number;
      /** @description Unix seconds */
      time: number;
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
      /** @description Unix seconds of the event */
      time: number;
      /** @description height of a block */
      forkHeight: number;
      /** @description the last block of both branches */
      forkHash: string;
      oldTip: {
        /** @description height of a block */
        height: number;
        hash: string;
      };
      newTip: {
        /** @description height of a block */
        height: number;
        hash: string;
      };
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
    Replacement: {
      txid: string;
      replacedBy: string;
      /** @description satoshis */
      fee: number;
      /** @description virtual bytes */
      vsize: number;
      /** @description satoshis per virtual byte */
      feeRate: number;
      /** @description Unix seconds */
      firstSeen: number;
      /** @description Unix seconds */
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
    /** @description an output script */
    Script: {
      /** @description hex */
      hex: string;
      asm: string;
      /** @description Bitcoin Core's name of the type */
      type: string;
      address: string | null;
    };
    StoredWatch: {
      id: string;
      /** @enum {string} */
      kind: "address" | "script" | "tx" | "outpoint";
      /** @description an address, hex of a script, a transaction id, or txid:n */
      value: string;
      confirmations: number[];
      label: string | null;
      /** @description Unix seconds */
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
      class: ("consensus" | "script" | "policy" | "fee" | "missing-inputs" | "conflict" | "premature") | null;
      debug: string | null;
    };
    Ticket: {
      ticket: string;
      /** @description Unix seconds */
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
      /** @description Unix seconds of the event */
      time: number;
      txid: string;
      /** @enum {string} */
      reason: "block" | "replaced" | "conflict" | "sizelimit" | "expiry" | "reorg";
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
      /** @description satoshis */
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
      /** @enum {string} */
      fate: "reconfirmed" | "mempool" | "conflicted" | "dropped";
      conflict: string | null;
      /** @description missing in events that earlier versions stored */
      outputs?: ({
          n: number;
          /** @description satoshis */
          value: number;
          address: string | null;
        })[];
    };
    TxInput: {
      txid: string | null;
      vout: number | null;
      sequence: number;
      coinbase: string | null;
      scriptSig: {
        /** @description hex */
        hex: string;
        asm: string;
      };
      witness: string[];
      prevout: ({
        /** @description satoshis */
        value: number;
        height: number | null;
        isCoinbase: boolean;
        script: components["schemas"]["Script"];
      }) | null;
    };
    TxOutput: {
      n: number;
      /** @description satoshis */
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
      /** @description Unix seconds */
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
      coinbase: {
        txid: string;
        /** @description hex */
        hex: string;
        merkle: string[];
      } | null;
      tip: components["schemas"]["Tip"];
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
    Utxo: {
      txid: string;
      vout: number;
      /** @description satoshis */
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
    UtxosPage: {
      /** @description in canonical form */
      address: string;
      total: {
        count: number;
        /** @description satoshis */
        value: number;
      };
      tip: components["schemas"]["Tip"];
      items: components["schemas"]["Utxo"][];
      nextCursor: string | null;
      next: string | null;
    };
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
      /** @description Unix seconds of the event */
      time: number;
      /** @description order among the messages that are derived from one event */
      sub: number;
      wallet: string;
      txid: string;
      /** @enum {string} */
      phase: "mempool" | "confirmed" | "reverted" | "conflicted" | "removed" | "abandoned";
      reason: string | null;
      replacedBy: string | null;
      /** @description change of the balance without the fee, satoshis */
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
      /** @description Unix seconds */
      blocktime?: number;
      wtxid: string;
      alternate_wtxids: string[];
      walletconflicts: string[];
      mempoolconflicts: string[];
      /** @description Unix seconds */
      timereceived: number;
      comment?: string;
      to?: string;
      replaces_txid?: string;
      replaced_by_txid?: string;
      details: ({
          address?: string;
          parent_descs?: string[];
          /** @enum {string} */
          category: "send" | "receive" | "generate" | "immature" | "orphan";
          /** @description satoshis */
          amount: number;
          label?: string;
          vout: number;
          /** @description satoshis */
          fee?: number;
          abandoned: boolean;
        })[];
    };
    Watch: {
      id: string;
      /** @enum {string} */
      kind: "address" | "script" | "tx" | "outpoint";
      /** @description an address, hex of a script, a transaction id, or txid:n */
      value: string;
      confirmations: number[];
      label: string | null;
      /** @description Unix seconds */
      createdAt: number;
    };
    WatchRequest: {
      /** @enum {string} */
      kind: "address" | "script" | "tx" | "outpoint";
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
    Webhook: {
      id: string;
      /** @description https://, or http:// where the node allows it */
      url: string;
      /** @description types of events */
      types: ("newBlock" | "newTransaction" | "mempoolUpdate" | "addressTransaction" | "confirmation" | "blockDisconnected" | "reorg" | "transactionRemoved" | "walletTransaction")[];
      wallets: string[] | null;
      label: string | null;
      /** @description limit of the events of one delivery */
      maxEvents: number;
      /** @description Unix seconds */
      createdAt: number;
      previousSecretUntil: number | null;
      /** @enum {string} */
      status: "active" | "paused" | "disabled";
      /** @description everything up to it is delivered */
      cursor: string;
      lag: {
        /** @description event numbers between the cursor and the end of the log */
        events: number;
        /** @description age of the oldest event whose delivery failed; 0 without one */
        seconds: number;
      };
      /** @description failed attempts in a row */
      failures: number;
      failingSince: number | null;
      nextAttemptAt: number | null;
      deliveredAt: number | null;
      lastError: ({
        code: string;
        message: string;
        status: number | null;
        /** @description Unix seconds */
        at: number;
      }) | null;
    };
    WebhookReplay: {
      /** @description cursor or seq of the event behind which to begin */
      after: string | number;
    };
    WebhookRequest: {
      /** @description https://, or http:// where the node allows it */
      url: string;
      /** @description types of events */
      types?: ("newBlock" | "newTransaction" | "mempoolUpdate" | "addressTransaction" | "confirmation" | "blockDisconnected" | "reorg" | "transactionRemoved" | "walletTransaction")[];
      wallets?: string[] | null;
      label?: string | null;
      /** @description limit of the events of one delivery */
      maxEvents?: number;
      /** @description whsec_ and the base64 of 24 to 64 bytes */
      secret?: string;
      /** @description cursor or seq of the event behind which to begin */
      after?: string | number;
    };
    WebhookTest: {
      delivered: boolean;
      status: number | null;
      /** @description milliseconds */
      durationMs: number;
      error: {
        code: string;
        message: string;
      } | null;
    };
    WebhookWithSecret: {
      id: string;
      /** @description https://, or http:// where the node allows it */
      url: string;
      /** @description types of events */
      types: ("newBlock" | "newTransaction" | "mempoolUpdate" | "addressTransaction" | "confirmation" | "blockDisconnected" | "reorg" | "transactionRemoved" | "walletTransaction")[];
      wallets: string[] | null;
      label: string | null;
      /** @description limit of the events of one delivery */
      maxEvents: number;
      /** @description Unix seconds */
      createdAt: number;
      previousSecretUntil: number | null;
      /** @enum {string} */
      status: "active" | "paused" | "disabled";
      /** @description everything up to it is delivered */
      cursor: string;
      lag: {
        /** @description event numbers between the cursor and the end of the log */
        events: number;
        /** @description age of the oldest event whose delivery failed; 0 without one */
        seconds: number;
      };
      /** @description failed attempts in a row */
      failures: number;
      failingSince: number | null;
      nextAttemptAt: number | null;
      deliveredAt: number | null;
      lastError: ({
        code: string;
        message: string;
        status: number | null;
        /** @description Unix seconds */
        at: number;
      }) | null;
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
  healthz: {
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
  readyz: {
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
  metrics: {
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
  health: {
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
  block: {
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
  blockByHeight: {
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
  blocks: {
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
  blocksTip: {
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
  blockTxs: {
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
  blockTxids: {
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
  blockHeader: {
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
  blockRaw: {
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
  blockHex: {
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
  blockStatus: {
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
  headers: {
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
  tx: {
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
  txProof: {
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
  txStatus: {
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
  txHex: {
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
  txRaw: {
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
  txsStatus: {
    requestBody: {
      content: {
        "application/json": {
          txids: string[];
        };
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
  txsDetails: {
    requestBody: {
      content: {
        "application/json": {
          txids: string[];
        };
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
  txOutspends: {
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
  txOutspend: {
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
  txCpfp: {
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
  balance: {
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
  balances: {
    requestBody: {
      content: {
        "application/json": {
          addresses: string[];
        };
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
  address: {
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
  addressTxs: {
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
  addressUtxos: {
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
  utxos: {
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
        "application/json": {
          addresses: string[];
        };
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
  /** Whether an address is valid */
  validate: {
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
  mempoolAddress: {
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
  difficulty: {
    responses: {
      /** @description success */
      200: {
        content: {
          "application/json": components["schemas"]["Difficulty"];
        };
      };
    };
  };
  /** Supply: coins in the UTXO set */
  supplyCirculating: {
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
  supplyIssued: {
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
  supplyTotal: {
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
  supplyMax: {
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
  txReplacements: {
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
  mempool: {
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
  mempoolTxids: {
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
  mempoolRecent: {
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
  mempoolBlocks: {
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
  fees: {
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
  info: {
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
  peers: {
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
  listing: {
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
  events: {
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
  watches: {
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
        "application/json": components["schemas"]["WatchRequest"] | {
          watches: components["schemas"]["WatchRequest"][];
        };
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
        "application/json": {
          ids?: string[];
          /** @description true removes all watches of this key */
          all?: boolean;
        };
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
  watch: {
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
  wsTicket: {
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
  configLimits: {
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
  webhooks: {
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
  webhook: {
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
        "application/json": {
          /** @description whsec_ and the base64 of 24 to 64 bytes */
          secret?: string;
          /**
           * @description seconds for which the previous secret signs as well
           * @default 86400
           */
          overlap?: number;
        };
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
  /** Audit log: administrative, spending and key-management calls, newest first */
  audit: {
    parameters: {
      query?: {
        /** @description id of a key, static, cookie, rpcauth:USER or cli:UID */
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
  healthz: ['GET', '/healthz'],
  readyz: ['GET', '/readyz'],
  metrics: ['GET', '/metrics'],
  health: ['GET', '/api/health'],
  block: ['GET', '/api/block/{hash}'],
  blockByHeight: ['GET', '/api/block-by-height/{height}'],
  blocks: ['GET', '/api/blocks'],
  blocksTip: ['GET', '/api/blocks/tip'],
  blockTxs: ['GET', '/api/block/{hash}/txs'],
  blockTxids: ['GET', '/api/block/{hash}/txids'],
  blockHeader: ['GET', '/api/block/{hash}/header'],
  blockRaw: ['GET', '/api/block/{hash}/raw'],
  blockHex: ['GET', '/api/block/{hash}/hex'],
  blockStatus: ['GET', '/api/block/{hash}/status'],
  headers: ['GET', '/api/headers'],
  tx: ['GET', '/api/tx/{txid}'],
  txProof: ['GET', '/api/tx/{txid}/proof'],
  txStatus: ['GET', '/api/tx/{txid}/status'],
  txHex: ['GET', '/api/tx/{txid}/hex'],
  txRaw: ['GET', '/api/tx/{txid}/raw'],
  txsStatus: ['POST', '/api/txs/status'],
  txsDetails: ['POST', '/api/txs/details'],
  txOutspends: ['GET', '/api/tx/{txid}/outspends'],
  txOutspend: ['GET', '/api/tx/{txid}/outspend/{n}'],
  txCpfp: ['GET', '/api/tx/{txid}/cpfp'],
  balance: ['GET', '/api/balance/{address}'],
  balances: ['POST', '/api/balances'],
  address: ['GET', '/api/address/{address}'],
  addressTxs: ['GET', '/api/address/{address}/txs'],
  addressUtxos: ['GET', '/api/address/{address}/utxos'],
  utxos: ['POST', '/api/utxos'],
  validate: ['GET', '/api/validate/{address}'],
  mempoolAddress: ['GET', '/api/mempool/address/{address}'],
  difficulty: ['GET', '/api/difficulty'],
  supplyCirculating: ['GET', '/api/supply/circulating'],
  supplyIssued: ['GET', '/api/supply/issued'],
  supplyTotal: ['GET', '/api/supply/total'],
  supplyMax: ['GET', '/api/supply/max'],
  txReplacements: ['GET', '/api/tx/{txid}/replacements'],
  broadcastTx: ['POST', '/api/tx'],
  testTxs: ['POST', '/api/tx/test'],
  broadcastPackage: ['POST', '/api/txs/package'],
  mempool: ['GET', '/api/mempool'],
  mempoolTxids: ['GET', '/api/mempool/txids'],
  mempoolRecent: ['GET', '/api/mempool/recent'],
  mempoolBlocks: ['GET', '/api/mempool/blocks'],
  fees: ['GET', '/api/fees'],
  info: ['GET', '/api/info'],
  peers: ['GET', '/api/peers'],
  listing: ['GET', '/api/listing'],
  events: ['GET', '/api/events'],
  watches: ['GET', '/api/watches'],
  putWatches: ['POST', '/api/watches'],
  removeWatches: ['DELETE', '/api/watches'],
  watch: ['GET', '/api/watches/{id}'],
  removeWatch: ['DELETE', '/api/watches/{id}'],
  wsTicket: ['POST', '/api/ws-ticket'],
  configLimits: ['GET', '/api/config/limits'],
  webhooks: ['GET', '/api/webhooks'],
  createWebhook: ['POST', '/api/webhooks'],
  webhook: ['GET', '/api/webhooks/{id}'],
  removeWebhook: ['DELETE', '/api/webhooks/{id}'],
  pauseWebhook: ['POST', '/api/webhooks/{id}/pause'],
  resumeWebhook: ['POST', '/api/webhooks/{id}/resume'],
  replayWebhook: ['POST', '/api/webhooks/{id}/replay'],
  replaceWebhookSecret: ['POST', '/api/webhooks/{id}/secret'],
  testWebhook: ['POST', '/api/webhooks/{id}/test'],
  audit: ['GET', '/api/audit'],
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

/** Sends one request, and resolves with its reply, whatever the status of that is. */
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
    ...init,
    ...(body !== undefined && {
      body: JSON.stringify(body),
      headers: { ...init.headers, 'content-type': 'application/json' },
    }),
  });
}
