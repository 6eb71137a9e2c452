"""Types of the replies, and the operations. `npm run generate:clients` writes this file from the OpenAPI document of the node."""
from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

class Address(TypedDict):
    address: str
    isValid: Literal[True]
    type: str
    script: Script
    confirmed: int
    unconfirmed: int
    total: int
    immature: int
    pendingReceived: int
    pendingSpent: int
    received: int
    sent: int
    txCount: int
    mempoolTxCount: int
    utxoCount: int
    firstSeenHeight: int | None
    lastSeenHeight: int | None
    tip: Tip

class AddressCheck(TypedDict):
    isValid: bool
    type: str | None
    witnessVersion: int | None
    script: Script | None
    reason: str | None
    errorLocations: list[int]

class AddressTransaction(TypedDict):
    type: Literal["addressTransaction"]
    data: AddressTransactionData

class AddressTransactionDataOutputsItem(TypedDict):
    n: int
    value: int

class AddressTransactionDataInputsItem(TypedDict):
    n: int
    txid: str
    vout: int
    value: int

class AddressTransactionData(TypedDict):
    cursor: str
    seq: int
    time: int
    sub: int
    address: str
    txid: str
    status: TxStatus
    received: int
    sent: int
    outputs: list[AddressTransactionDataOutputsItem]
    inputs: list[AddressTransactionDataInputsItem]
    phase: Literal["mempool", "confirmed", "reverted", "removed"]
    watchId: str | None

class AddressTxOutputsItem(TypedDict):
    n: int
    value: int

class AddressTxInputsItem(TypedDict):
    n: int
    txid: str
    vout: int
    value: int

class AddressTx(TypedDict):
    txid: str
    status: TxStatus
    time: int
    received: int
    sent: int
    net: int
    fee: int | None
    vsize: int | None
    isCoinbase: bool
    signalsRbf: bool | None
    outputs: list[AddressTxOutputsItem] | None
    inputs: list[AddressTxInputsItem] | None
    tx: NotRequired[Tx | None]

class AddressTxsPageTotal(TypedDict):
    confirmed: int
    mempool: int

class AddressTxsPage(TypedDict):
    address: str
    total: AddressTxsPageTotal
    tip: Tip
    items: list[AddressTx]
    nextCursor: str | None
    next: str | None

class AddressUtxo(TypedDict):
    address: str
    txid: str
    vout: int
    value: int
    script: str
    height: int | None
    blockHash: str | None
    confirmations: int
    isCoinbase: bool
    mature: bool
    spentInMempool: NotRequired[str | None]

class AllUtxosPageTotal(TypedDict):
    count: int
    value: int

class AllUtxosPage(TypedDict):
    total: AllUtxosPageTotal
    tip: Tip
    items: list[AddressUtxo]
    nextCursor: str | None
    next: str | None

class AuditEntry(TypedDict):
    id: int
    time: int
    who: str
    ip: str
    requestId: str
    method: str
    wallet: str | None
    outcome: str | None
    keyId: str | None
    txid: str | None

class AuditPage(TypedDict):
    tip: Tip | None
    items: list[AuditEntry]
    nextCursor: str | None
    next: str | None

class Balance(TypedDict):
    address: str
    script: Script
    confirmed: int
    unconfirmed: int
    total: int
    immature: int
    pendingReceived: int
    pendingSpent: int
    received: int
    sent: int
    txCount: int
    mempoolTxCount: int
    utxoCount: int
    firstSeenHeight: int | None
    lastSeenHeight: int | None
    tip: Tip

class Balances(TypedDict):
    tip: Tip
    items: list[Balance]

class BlockCoinbase(TypedDict):
    txid: str
    scriptHex: str
    text: str

class Block(TypedDict):
    hash: str
    height: int
    confirmations: int
    inActiveChain: bool
    previousHash: str | None
    nextHash: str | None
    version: int
    versionHex: str
    merkleRoot: str
    time: int
    medianTime: int
    nonce: int
    bits: str
    target: str
    difficulty: float
    chainwork: str
    txCount: int
    size: int
    strippedSize: int
    weight: int
    subsidy: int
    fees: int | None
    reward: int
    inputs: int
    outputs: int
    valueOut: int
    coinbase: BlockCoinbase
    txids: NotRequired[list[str]]
    receivedAt: int | None

class BlockDisconnected(TypedDict):
    type: Literal["blockDisconnected"]
    data: BlockDisconnectedData

class BlockDisconnectedData(TypedDict):
    cursor: str
    seq: int
    time: int
    hash: str
    height: int
    previousHash: str | None
    txids: list[str]
    depth: int
    block: NotRequired[dict[str, Any]]

class BlockStatus(TypedDict):
    inActiveChain: bool
    height: int
    confirmations: int
    nextHash: str | None

class BlockTip(TypedDict):
    height: int
    hash: str
    time: int
    medianTime: int

class BlockTxsPage(TypedDict):
    total: int
    tip: Tip
    items: list[Tx]
    nextCursor: str | None
    next: str | None

class BlocksPage(TypedDict):
    tip: Tip
    items: list[Block]
    nextCursor: str | None
    next: str | None

class Broadcast(TypedDict):
    txid: str
    wtxid: str
    status: Literal["accepted", "already_in_mempool", "already_confirmed"]
    vsize: int
    fee: int | None
    feeRate: float | None
    replaced: list[str]
    blockHash: str | None
    confirmations: int
    relayedTo: int

class Confirmation(TypedDict):
    type: Literal["confirmation"]
    data: ConfirmationData

class ConfirmationData(TypedDict):
    cursor: str
    seq: int
    time: int
    sub: int
    txid: str
    address: str | None
    outpoint: str | None
    received: int | None
    sent: int | None
    confirmations: int
    blockHash: str | None
    height: int | None
    reverted: bool
    watchId: str | None
    threshold: int

class CpfpChunk(TypedDict):
    fee: int
    vsize: int
    txids: list[str]

class CpfpCluster(TypedDict):
    count: int
    vsize: int

class Cpfp(TypedDict):
    txid: str
    fee: int | None
    vsize: int
    feeRate: float | None
    status: TxStatus
    effectiveFeeRate: float | None
    ancestors: list[CpfpTx]
    descendants: list[CpfpTx]
    chunk: CpfpChunk | None
    cluster: CpfpCluster | None
    tip: Tip

class CpfpTx(TypedDict):
    txid: str
    fee: int
    vsize: int
    feeRate: float

class DifficultyNext(TypedDict):
    height: int
    difficulty: float
    change: float
    time: int

class DifficultyHistoryItem(TypedDict):
    height: int
    time: int
    difficulty: float

class Difficulty(TypedDict):
    height: int
    bits: str
    target: str
    difficulty: float
    next: DifficultyNext
    blocksToRetarget: int
    history: list[DifficultyHistoryItem]
    tip: Tip

class ErrorError(TypedDict):
    code: Literal["invalid_request", "invalid_parameter", "invalid_hash", "invalid_txid", "invalid_height", "invalid_address", "invalid_cursor", "tx_decode_failed", "missing_credentials", "invalid_credentials", "insufficient_scope", "ip_not_allowed", "origin_not_allowed", "not_found", "block_not_found", "tx_not_found", "method_not_allowed", "tx_unconfirmed", "cursor_reorged", "limit_exceeded", "block_pruned", "payload_too_large", "unsupported_media_type", "misdirected_request", "tx_rejected", "upgrade_required", "rate_limited", "too_many_connections", "audit_unavailable", "internal_error", "feature_disabled", "warming_up", "syncing", "index_not_ready", "overloaded", "shutting_down"]
    message: str
    details: dict[str, Any] | None
    requestId: str

class Error(TypedDict):
    error: ErrorError

class EventGap(TypedDict):
    scope: Literal["mempool", "all"]
    fromSeq: int
    toSeq: int
    lastChainSeq: int
    cursor: str

class EventsPage(TypedDict):
    items: list[NewBlock | NewTransaction | MempoolUpdate | BlockDisconnected | Reorg | TransactionRemoved | AddressTransaction | Confirmation | WalletTransaction]
    lastSeq: int
    lastCursor: str
    gap: EventGap | None

class Fees(TypedDict):
    fastest: float
    halfHour: float
    hour: float
    economy: float
    minimum: float
    estimator: Literal["mempool_policy", "block_policy", "floor"]
    targets: dict[str, float]
    tip: Tip
    updatedAt: int

class HeadersPage(TypedDict):
    tip: Tip
    items: list[str]
    nextCursor: str | None
    next: str | None

class Health(TypedDict):
    status: Literal["ok"]
    service: str
    version: str
    network: str
    time: int
    uptime: int
    ready: bool

class Healthz(TypedDict):
    status: Literal["ok"]
    service: str

class IndexState(TypedDict):
    enabled: bool
    height: int | None
    synced: bool

class InfoIndexes(TypedDict):
    tx: IndexState
    address: IndexState
    spender: IndexState
    coinStats: IndexState
    filter: IndexState

class Info(TypedDict):
    service: str
    version: str
    userAgent: str
    network: Literal["main", "testnet4", "signet", "regtest"]
    height: int
    bestBlockHash: str
    headers: int
    difficulty: float
    bits: str
    chainwork: str
    time: int
    medianTime: int
    verificationProgress: float
    initialBlockDownload: bool
    synced: bool
    peers: int
    peersInbound: int
    peersOutbound: int
    mempoolCount: int
    pruned: bool
    pruneHeight: int | None
    indexes: InfoIndexes
    protocolVersion: int
    uptime: int
    warnings: list[str]

class LimitsKey(TypedDict):
    kind: str
    id: str
    scopes: list[str]
    wallets: list[str] | None
    methods: list[str] | None

class LimitsRate(TypedDict):
    perSecond: float
    burst: float
    remaining: int
    resetAfter: int

class LimitsUse(TypedDict):
    sockets: int
    storedWatches: int

class LimitsLimits(TypedDict):
    urlBytes: int
    txBodyBytes: int
    rpcBodyBytes: int
    requestSeconds: float
    parallelRequests: int
    rpcBatch: int
    rpcRunning: int
    rpcQueued: int
    sockets: int
    socketFrameBytes: int
    socketMessagesPer10s: int
    socketWatches: int
    storedWatches: int
    eventWaits: int
    tickets: int

class LimitsPagesValue(TypedDict):
    default: int
    max: int

class Limits(TypedDict):
    key: LimitsKey
    rate: LimitsRate | None
    use: LimitsUse
    limits: LimitsLimits
    pages: dict[str, LimitsPagesValue]

class ListingUnit(TypedDict):
    name: str
    baseName: str
    basePerCoin: int

class ListingConsensus(TypedDict):
    type: str
    algorithm: str
    targetBlockTime: int
    retargetInterval: int
    maxBlockWeight: int
    coinbaseMaturity: int

class ListingSupply(TypedDict):
    max: str
    maxBase: int
    issued: str
    issuedBase: int
    circulating: str
    circulatingBase: int
    unspendable: str
    unspendableBase: int
    height: int
    blockHash: str
    time: int

class ListingEmission(TypedDict):
    initialSubsidy: str
    currentSubsidy: str
    halvingInterval: int
    nextHalvingHeight: int
    blocksToHalving: int
    estimatedHalvingTime: int

class ListingAddressesFormatsItem(TypedDict):
    type: str
    encoding: str
    version: NotRequired[int]
    prefix: str

class ListingAddresses(TypedDict):
    formats: list[ListingAddressesFormatsItem]
    bech32Hrp: str
    wifPrefix: int
    memoRequired: bool

class ListingHd(TypedDict):
    slip44: int
    bip32Public: str
    bip32Private: str
    purposes: list[int]

class ListingPorts(TypedDict):
    p2p: int
    http: int

class ListingFees(TypedDict):
    minRelayFeeRate: float
    incrementalFeeRate: float
    dustRelayFeeRate: float
    unit: str

class ListingConfirmations(TypedDict):
    deposit: int
    depositLarge: int
    withdrawal: int
    coinbase: int

class ListingSoftware(TypedDict):
    name: str
    version: str
    userAgent: str
    protocolVersion: int
    license: str | None

class ListingLinks(TypedDict):
    website: str | None
    explorer: str | None
    explorerTx: str | None
    explorerAddress: str | None
    source: str | None
    whitepaper: str | None
    support: str | None

class ListingStatus(TypedDict):
    height: int
    synced: bool
    tipTime: int

class Listing(TypedDict):
    schema: Literal[1]
    name: str
    symbol: str
    decimals: Literal[8]
    unit: ListingUnit
    network: str
    isTestnet: bool
    genesisHash: str
    genesisTime: int
    networkMagic: str
    consensus: ListingConsensus
    supply: ListingSupply
    emission: ListingEmission
    addresses: ListingAddresses
    hd: ListingHd
    ports: ListingPorts
    fees: ListingFees
    confirmations: ListingConfirmations
    software: ListingSoftware
    links: ListingLinks
    endpoints: dict[str, str]
    features: dict[str, bool]
    status: ListingStatus

class MempoolClusterLimit(TypedDict):
    count: int
    vsize: int

class Mempool(TypedDict):
    count: int
    vsize: int
    size: int
    usage: int
    maxUsage: int
    totalFee: int
    loaded: bool
    minFeeRate: float
    minRelayFeeRate: float
    incrementalFeeRate: float
    feeHistogram: list[list[float]]
    unbroadcast: int
    oldest: int | None
    seq: int
    clusterLimit: MempoolClusterLimit
    tip: Tip

class MempoolAddressPage(TypedDict):
    address: str
    count: int
    received: int
    sent: int
    net: int
    tip: Tip
    items: list[AddressTx]
    nextCursor: str | None
    next: str | None

class MempoolFacts(TypedDict):
    firstSeen: int
    seq: int
    ancestorCount: int
    ancestorVsize: int
    ancestorFee: int
    descendantCount: int
    effectiveFeeRate: float
    unbroadcast: bool
    replaces: list[str]

class MempoolTxidsPage(TypedDict):
    tip: Tip
    items: list[str]
    nextCursor: str | None
    next: str | None

class MempoolUpdate(TypedDict):
    type: Literal["mempoolUpdate"]
    data: MempoolUpdateData

class MempoolUpdateDataTip(TypedDict):
    height: int
    hash: str

class MempoolUpdateData(TypedDict):
    cursor: str
    seq: int
    time: int
    count: int
    vsize: int
    size: int
    usage: int
    totalFee: int
    minFeeRate: float
    added: int
    removed: int
    tip: MempoolUpdateDataTip | None

class NewBlock(TypedDict):
    type: Literal["newBlock"]
    data: NewBlockData

class NewBlockData(TypedDict):
    cursor: str
    seq: int
    time: int
    hash: str
    height: int
    previousHash: str | None
    version: int
    merkleRoot: str
    blockTime: int
    medianTime: int
    bits: str
    nonce: int
    difficulty: float
    chainwork: str
    txCount: int
    size: int
    strippedSize: int
    weight: int
    fees: int
    subsidy: int
    reward: int
    confirmations: int
    reorg: bool
    initialSync: bool
    headers: int
    block: NotRequired[dict[str, Any]]

class NewTransaction(TypedDict):
    type: Literal["newTransaction"]
    data: NewTransactionData

class NewTransactionData(TypedDict):
    cursor: str
    seq: int
    time: int
    txid: str
    wtxid: str
    size: int
    vsize: int
    weight: int
    fee: int
    feeRate: float
    valueOut: int
    inputs: int
    outputs: int
    signalsRbf: bool
    replaces: list[str]
    reaccepted: bool
    local: bool
    tx: NotRequired[dict[str, Any]]

class Outspend(TypedDict):
    spent: bool | None
    txid: str | None
    vin: int | None
    status: TxStatus | None

PackageMember = TypedDict('PackageMember', {
    'txid': 'str',
    'status': 'str',
    'vsize': 'int | None',
    'fee': 'int | None',
    'feeRate': 'float | None',
    'effectiveFeeRate': 'float | None',
    'reason': 'str | None',
    'class': 'Literal["consensus", "script", "policy", "fee", "missing-inputs", "conflict", "premature"] | None',
    'retryable': 'bool | None',
    'debug': 'str | None',
})

class PackageResult(TypedDict):
    packageMessage: str
    results: dict[str, PackageMember]
    replaced: list[str]

class Peer(TypedDict):
    id: int
    address: str
    network: str
    inbound: bool
    connectionType: str
    transport: Literal["detecting", "v1", "v2"]
    services: str
    servicesNames: list[str]
    version: int
    userAgent: str
    connectedAt: int
    lastSend: int
    lastRecv: int
    bytesSent: int
    bytesRecv: int
    pingMs: float | None
    minPingMs: float | None
    timeOffset: int
    startingHeight: int
    syncedHeaders: int
    syncedBlocks: int
    relayTxs: bool
    minFeeFilter: float
    permissions: list[str]

class Peers(TypedDict):
    count: int
    inbound: int
    outbound: int
    items: list[Peer]

class ProjectedBlock(TypedDict):
    txCount: int
    vsize: int
    weight: int
    totalFee: int
    medianFeeRate: float
    feeRange: list[float]

class ReadinessChecksValue(TypedDict):
    status: Literal["ok", "degraded", "fail"]

class Readiness(TypedDict):
    status: Literal["ok", "degraded", "fail"]
    service: str
    time: int
    durationMs: int
    checks: dict[str, ReadinessChecksValue]

class RecentTx(TypedDict):
    txid: str
    fee: int
    vsize: int
    feeRate: float
    valueOut: int
    time: int

class RemovedWatches(TypedDict):
    deleted: int
    missing: list[str]
    total: int

class RemovedWebhook(TypedDict):
    deleted: int

class Reorg(TypedDict):
    type: Literal["reorg"]
    data: ReorgData

class ReorgDataOldTip(TypedDict):
    height: int
    hash: str

class ReorgDataNewTip(TypedDict):
    height: int
    hash: str

class ReorgData(TypedDict):
    cursor: str
    seq: int
    time: int
    forkHeight: int
    forkHash: str
    oldTip: ReorgDataOldTip
    newTip: ReorgDataNewTip
    disconnected: list[str]
    connected: list[str]
    depth: int
    txs: list[TxFate]
    txsComplete: bool

class Replacement(TypedDict):
    txid: str
    replacedBy: str
    fee: int
    vsize: int
    feeRate: float
    firstSeen: int
    replacedAt: int

class Replacements(TypedDict):
    txid: str
    replacedBy: str | None
    replaces: list[str]
    newest: str
    items: list[Replacement]
    truncated: bool
    tip: Tip

class RpcCall(TypedDict):
    jsonrpc: NotRequired[Literal["2.0", "1.1", "1.0"]]
    id: NotRequired[str | float | None]
    method: str
    params: NotRequired[list[Any] | dict[str, Any]]

class RpcError(TypedDict):
    code: int
    message: str
    data: NotRequired[Any]

class RpcReply(TypedDict):
    jsonrpc: NotRequired[Literal["2.0"]]
    result: NotRequired[Any]
    id: NotRequired[str | float | None]
    error: NotRequired[RpcError | None]

class Script(TypedDict):
    hex: str
    asm: str
    type: str
    address: str | None

class StoredWatch(TypedDict):
    id: str
    kind: Literal["address", "script", "tx", "outpoint"]
    value: str
    confirmations: list[int]
    label: str | None
    createdAt: int
    created: bool

class StoredWatches(TypedDict):
    items: list[StoredWatch]
    createdCount: int
    total: int

TestResult = TypedDict('TestResult', {
    'txid': 'str',
    'wtxid': 'str',
    'allowed': 'bool | None',
    'vsize': 'int | None',
    'fee': 'int | None',
    'feeRate': 'float | None',
    'reason': 'str | None',
    'class': 'Literal["consensus", "script", "policy", "fee", "missing-inputs", "conflict", "premature"] | None',
    'debug': 'str | None',
})

class Ticket(TypedDict):
    ticket: str
    expiresAt: int

class Tip(TypedDict):
    height: int
    hash: str

class TransactionRemoved(TypedDict):
    type: Literal["transactionRemoved"]
    data: TransactionRemovedData

class TransactionRemovedData(TypedDict):
    cursor: str
    seq: int
    time: int
    txid: str
    reason: Literal["block", "replaced", "conflict", "sizelimit", "expiry", "reorg"]
    replacedBy: str | None
    blockHash: str | None

class Tx(TypedDict):
    txid: str
    wtxid: str
    version: int
    locktime: int
    size: int
    vsize: int
    weight: int
    isCoinbase: bool
    signalsRbf: bool
    fee: int | None
    feeRate: float | None
    valueIn: int | None
    valueOut: int
    vin: list[TxInput]
    vout: list[TxOutput]
    status: TxStatus
    mempool: MempoolFacts | None
    hex: str
    tip: Tip

class TxBody(TypedDict):
    tx: str
    maxFeeRate: NotRequired[float]
    maxBurn: NotRequired[int]

class TxFateOutputsItem(TypedDict):
    n: int
    value: int
    address: str | None

class TxFate(TypedDict):
    txid: str
    fate: Literal["reconfirmed", "mempool", "conflicted", "dropped"]
    conflict: str | None
    outputs: NotRequired[list[TxFateOutputsItem]]

class TxInputScriptSig(TypedDict):
    hex: str
    asm: str

class TxInputPrevout(TypedDict):
    value: int
    height: int | None
    isCoinbase: bool
    script: Script

class TxInput(TypedDict):
    txid: str | None
    vout: int | None
    sequence: int
    coinbase: str | None
    scriptSig: TxInputScriptSig
    witness: list[str]
    prevout: TxInputPrevout | None

class TxOutput(TypedDict):
    n: int
    value: int
    spent: bool | None
    script: Script

class TxProofCoinbase(TypedDict):
    txid: str
    hex: str
    merkle: list[str]

class TxProof(TypedDict):
    txid: str
    blockHash: str
    blockHeight: int
    blockTime: int
    confirmations: int
    pos: int
    txCount: int
    merkle: list[str]
    merkleRoot: str
    header: str
    merkleBlock: str
    coinbase: TxProofCoinbase | None
    tip: Tip

class TxStatus(TypedDict):
    confirmed: bool
    blockHash: str | None
    blockHeight: int | None
    blockIndex: int | None
    blockTime: int | None
    confirmations: int

class TxsBody(TypedDict):
    txs: list[str]

class TxsDetails(TypedDict):
    tip: Tip
    items: list[Tx]
    missing: list[str]
    pruned: list[str]
    remaining: list[str]

class Utxo(TypedDict):
    txid: str
    vout: int
    value: int
    script: str
    height: int | None
    blockHash: str | None
    confirmations: int
    isCoinbase: bool
    mature: bool
    spentInMempool: NotRequired[str | None]

class UtxosPageTotal(TypedDict):
    count: int
    value: int

class UtxosPage(TypedDict):
    address: str
    total: UtxosPageTotal
    tip: Tip
    items: list[Utxo]
    nextCursor: str | None
    next: str | None

class WalletTransaction(TypedDict):
    type: Literal["walletTransaction"]
    data: WalletTransactionData

class WalletTransactionDataDetailsItem(TypedDict):
    address: NotRequired[str]
    parent_descs: NotRequired[list[str]]
    category: Literal["send", "receive", "generate", "immature", "orphan"]
    amount: int
    label: NotRequired[str]
    vout: int
    fee: NotRequired[int]
    abandoned: bool

class WalletTransactionData(TypedDict):
    cursor: str
    seq: int
    time: int
    sub: int
    wallet: str
    txid: str
    phase: Literal["mempool", "confirmed", "reverted", "conflicted", "removed", "abandoned"]
    reason: str | None
    replacedBy: str | None
    amount: int
    fee: int | None
    confirmations: int
    generated: NotRequired[bool]
    trusted: NotRequired[bool]
    blockhash: NotRequired[str]
    blockheight: NotRequired[int]
    blockindex: NotRequired[int]
    blocktime: NotRequired[int]
    wtxid: str
    alternate_wtxids: list[str]
    walletconflicts: list[str]
    mempoolconflicts: list[str]
    timereceived: int
    comment: NotRequired[str]
    to: NotRequired[str]
    replaces_txid: NotRequired[str]
    replaced_by_txid: NotRequired[str]
    details: list[WalletTransactionDataDetailsItem]

class Watch(TypedDict):
    id: str
    kind: Literal["address", "script", "tx", "outpoint"]
    value: str
    confirmations: list[int]
    label: str | None
    createdAt: int

class WatchRequest(TypedDict):
    kind: Literal["address", "script", "tx", "outpoint"]
    value: str
    confirmations: NotRequired[list[int]]
    label: NotRequired[str | None]

class WatchesPage(TypedDict):
    total: int
    tip: Tip
    items: list[Watch]
    nextCursor: str | None
    next: str | None

class WebhookLag(TypedDict):
    events: int
    seconds: int

class WebhookLastError(TypedDict):
    code: str
    message: str
    status: int | None
    at: int

class Webhook(TypedDict):
    id: str
    url: str
    types: list[Literal["newBlock", "newTransaction", "mempoolUpdate", "addressTransaction", "confirmation", "blockDisconnected", "reorg", "transactionRemoved", "walletTransaction"]]
    wallets: list[str] | None
    label: str | None
    maxEvents: int
    createdAt: int
    previousSecretUntil: int | None
    status: Literal["active", "paused", "disabled"]
    cursor: str
    lag: WebhookLag
    failures: int
    failingSince: int | None
    nextAttemptAt: int | None
    deliveredAt: int | None
    lastError: WebhookLastError | None

class WebhookReplay(TypedDict):
    after: str | float

class WebhookRequest(TypedDict):
    url: str
    types: NotRequired[list[Literal["newBlock", "newTransaction", "mempoolUpdate", "addressTransaction", "confirmation", "blockDisconnected", "reorg", "transactionRemoved", "walletTransaction"]]]
    wallets: NotRequired[list[str] | None]
    label: NotRequired[str | None]
    maxEvents: NotRequired[int]
    secret: NotRequired[str]
    after: NotRequired[str | float]

class WebhookTestError(TypedDict):
    code: str
    message: str

class WebhookTest(TypedDict):
    delivered: bool
    status: int | None
    durationMs: int
    error: WebhookTestError | None

class WebhookWithSecretLag(TypedDict):
    events: int
    seconds: int

class WebhookWithSecretLastError(TypedDict):
    code: str
    message: str
    status: int | None
    at: int

class WebhookWithSecret(TypedDict):
    id: str
    url: str
    types: list[Literal["newBlock", "newTransaction", "mempoolUpdate", "addressTransaction", "confirmation", "blockDisconnected", "reorg", "transactionRemoved", "walletTransaction"]]
    wallets: list[str] | None
    label: str | None
    maxEvents: int
    createdAt: int
    previousSecretUntil: int | None
    status: Literal["active", "paused", "disabled"]
    cursor: str
    lag: WebhookWithSecretLag
    failures: int
    failingSince: int | None
    nextAttemptAt: int | None
    deliveredAt: int | None
    lastError: WebhookWithSecretLastError | None
    secret: str | None

class Webhooks(TypedDict):
    items: list[Webhook]

# Method and path of each operation.
OPERATIONS: dict[str, tuple[str, str]] = {
    "healthz": ("GET", "/healthz"),
    "readyz": ("GET", "/readyz"),
    "metrics": ("GET", "/metrics"),
    "health": ("GET", "/api/health"),
    "block": ("GET", "/api/block/{hash}"),
    "blockByHeight": ("GET", "/api/block-by-height/{height}"),
    "blocks": ("GET", "/api/blocks"),
    "blocksTip": ("GET", "/api/blocks/tip"),
    "blockTxs": ("GET", "/api/block/{hash}/txs"),
    "blockTxids": ("GET", "/api/block/{hash}/txids"),
    "blockHeader": ("GET", "/api/block/{hash}/header"),
    "blockRaw": ("GET", "/api/block/{hash}/raw"),
    "blockHex": ("GET", "/api/block/{hash}/hex"),
    "blockStatus": ("GET", "/api/block/{hash}/status"),
    "headers": ("GET", "/api/headers"),
    "tx": ("GET", "/api/tx/{txid}"),
    "txProof": ("GET", "/api/tx/{txid}/proof"),
    "txStatus": ("GET", "/api/tx/{txid}/status"),
    "txHex": ("GET", "/api/tx/{txid}/hex"),
    "txRaw": ("GET", "/api/tx/{txid}/raw"),
    "txsStatus": ("POST", "/api/txs/status"),
    "txsDetails": ("POST", "/api/txs/details"),
    "txOutspends": ("GET", "/api/tx/{txid}/outspends"),
    "txOutspend": ("GET", "/api/tx/{txid}/outspend/{n}"),
    "txCpfp": ("GET", "/api/tx/{txid}/cpfp"),
    "balance": ("GET", "/api/balance/{address}"),
    "balances": ("POST", "/api/balances"),
    "address": ("GET", "/api/address/{address}"),
    "addressTxs": ("GET", "/api/address/{address}/txs"),
    "addressUtxos": ("GET", "/api/address/{address}/utxos"),
    "utxos": ("POST", "/api/utxos"),
    "validate": ("GET", "/api/validate/{address}"),
    "mempoolAddress": ("GET", "/api/mempool/address/{address}"),
    "difficulty": ("GET", "/api/difficulty"),
    "supplyCirculating": ("GET", "/api/supply/circulating"),
    "supplyIssued": ("GET", "/api/supply/issued"),
    "supplyTotal": ("GET", "/api/supply/total"),
    "supplyMax": ("GET", "/api/supply/max"),
    "txReplacements": ("GET", "/api/tx/{txid}/replacements"),
    "broadcastTx": ("POST", "/api/tx"),
    "testTxs": ("POST", "/api/tx/test"),
    "broadcastPackage": ("POST", "/api/txs/package"),
    "mempool": ("GET", "/api/mempool"),
    "mempoolTxids": ("GET", "/api/mempool/txids"),
    "mempoolRecent": ("GET", "/api/mempool/recent"),
    "mempoolBlocks": ("GET", "/api/mempool/blocks"),
    "fees": ("GET", "/api/fees"),
    "info": ("GET", "/api/info"),
    "peers": ("GET", "/api/peers"),
    "listing": ("GET", "/api/listing"),
    "events": ("GET", "/api/events"),
    "watches": ("GET", "/api/watches"),
    "putWatches": ("POST", "/api/watches"),
    "removeWatches": ("DELETE", "/api/watches"),
    "watch": ("GET", "/api/watches/{id}"),
    "removeWatch": ("DELETE", "/api/watches/{id}"),
    "wsTicket": ("POST", "/api/ws-ticket"),
    "configLimits": ("GET", "/api/config/limits"),
    "webhooks": ("GET", "/api/webhooks"),
    "createWebhook": ("POST", "/api/webhooks"),
    "webhook": ("GET", "/api/webhooks/{id}"),
    "removeWebhook": ("DELETE", "/api/webhooks/{id}"),
    "pauseWebhook": ("POST", "/api/webhooks/{id}/pause"),
    "resumeWebhook": ("POST", "/api/webhooks/{id}/resume"),
    "replayWebhook": ("POST", "/api/webhooks/{id}/replay"),
    "replaceWebhookSecret": ("POST", "/api/webhooks/{id}/secret"),
    "testWebhook": ("POST", "/api/webhooks/{id}/test"),
    "audit": ("GET", "/api/audit"),
}
