"""Types of the replies, and the operations. `npm run generate:clients` writes this file from the OpenAPI document of the node."""
from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

class Address(TypedDict):
    address: str
    isValid: Literal[True]
    type: ScriptType
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
    type: ScriptType | None
    witnessVersion: int | None
    script: Script | None
    reason: str | None
    errorLocations: list[int]

class AddressFormat(TypedDict):
    type: str
    encoding: str
    version: NotRequired[int]
    prefix: str

class AddressTransaction(TypedDict):
    type: Literal["addressTransaction"]
    data: AddressTransactionData

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
    outputs: list[PaidOutput]
    inputs: list[SpendingInput]
    phase: AddressTransactionPhase
    watchId: str | None

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
    outputs: list[PaidOutput] | None
    inputs: list[SpendingInput] | None
    tx: NotRequired[Tx | None]

class AddressTxsPage(TypedDict):
    address: str
    total: TxTotal
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

class AddressesRequest(TypedDict):
    addresses: list[str]

class AdvisedConfirmations(TypedDict):
    deposit: int
    depositLarge: int
    withdrawal: int
    coinbase: int

class AllUtxosPage(TypedDict):
    total: UtxoTotal
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

class BlockCoinbase(TypedDict):
    txid: str
    scriptHex: str
    text: str

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
    block: NotRequired[Block]

class BlockReference(TypedDict):
    height: int
    hash: str

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
    status: BroadcastStatus
    vsize: int
    fee: int | None
    feeRate: float | None
    replaced: list[str]
    blockHash: str | None
    confirmations: int
    relayedTo: int

class CallRate(TypedDict):
    perSecond: float
    burst: float
    remaining: int
    resetAfter: int

class Caller(TypedDict):
    kind: CallerKind
    id: str
    scopes: list[Scope]
    wallets: list[str] | None
    methods: list[str] | None

class CallerLimits(TypedDict):
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

class Chart(TypedDict):
    series: ChartSeries
    unit: ChartUnit
    fromHeight: int | None
    toHeight: int | None
    interval: int | None
    points: list[list[float]]
    tip: Tip

class ClusterSize(TypedDict):
    count: int
    vsize: int

class CoinUnit(TypedDict):
    name: str
    baseName: str
    basePerCoin: int

class CoinbaseProof(TypedDict):
    txid: str
    hex: str
    merkle: list[str]

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
    cluster: ClusterSize | None
    tip: Tip

class CpfpChunk(TypedDict):
    fee: int
    vsize: int
    txids: list[str]

class CpfpTx(TypedDict):
    txid: str
    fee: int
    vsize: int
    feeRate: float

class DefaultPorts(TypedDict):
    p2p: int
    http: int

class DescriptorAddress(TypedDict):
    address: str
    branch: int
    index: int
    confirmed: int
    unconfirmed: int
    total: int
    received: int
    sent: int
    utxoCount: int
    txCount: int
    mempoolTxCount: int
    firstSeenHeight: int | None
    lastSeenHeight: int | None

class DescriptorBranch(TypedDict):
    branch: int
    descriptor: str
    isRange: bool
    examinedCount: int
    usedCount: int
    lastUsedIndex: int | None
    nextUnused: DescriptorPlace | None
    confirmed: int
    unconfirmed: int
    total: int
    received: int
    sent: int
    utxoCount: int

class DescriptorPlace(TypedDict):
    address: str
    branch: int
    index: int

class DescriptorRequest(TypedDict):
    descriptor: str
    gapLimit: NotRequired[int]

class DescriptorSummary(TypedDict):
    descriptor: str
    gapLimit: int
    tip: Tip
    confirmed: int
    unconfirmed: int
    total: int
    received: int
    sent: int
    utxoCount: int
    immature: int
    pendingReceived: int
    pendingSpent: int
    txCount: int | None
    mempoolTxCount: int
    usedCount: int
    branches: list[DescriptorBranch]
    addresses: list[DescriptorAddress]

class DescriptorTx(TypedDict):
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
    outputs: list[DescriptorTxOutput] | None
    inputs: list[DescriptorTxInput] | None
    tx: NotRequired[Tx | None]

class DescriptorTxInput(TypedDict):
    n: int
    txid: str
    vout: int
    value: int
    address: str
    branch: int
    index: int

class DescriptorTxOutput(TypedDict):
    n: int
    value: int
    address: str
    branch: int
    index: int

class DescriptorTxTotal(TypedDict):
    confirmed: int | None
    mempool: int

class DescriptorTxsPage(TypedDict):
    descriptor: str
    total: DescriptorTxTotal
    tip: Tip
    items: list[DescriptorTx]
    nextCursor: str | None
    next: str | None

class DescriptorUtxo(TypedDict):
    address: str
    branch: int
    index: int
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

class DescriptorUtxosPage(TypedDict):
    descriptor: str
    total: UtxoTotal
    tip: Tip
    items: list[DescriptorUtxo]
    nextCursor: str | None
    next: str | None

class Difficulty(TypedDict):
    height: int
    bits: str
    target: str
    difficulty: float
    next: NextRetarget
    blocksToRetarget: int
    history: list[PastRetarget]
    tip: Tip

class Error(TypedDict):
    error: ErrorBody

class ErrorBody(TypedDict):
    code: ErrorCode
    message: str
    details: dict[str, Any] | None
    requestId: str

class EventGap(TypedDict):
    scope: Literal["mempool", "all", "confirmations"]
    fromSeq: int
    toSeq: int
    lastChainSeq: int
    cursor: str
    height: NotRequired[int]
    threshold: NotRequired[int]
    reverted: NotRequired[bool]

class EventsPage(TypedDict):
    items: list[NewBlock | NewTransaction | MempoolUpdate | BlockDisconnected | Reorg | TransactionRemoved | AddressTransaction | Confirmation | WalletTransaction | Gap]
    lastSeq: int
    lastCursor: str
    gap: EventGap | None

class Fees(TypedDict):
    fastest: float
    halfHour: float
    hour: float
    economy: float
    minimum: float
    estimator: FeeEstimator
    targets: dict[str, float]
    tip: Tip
    updatedAt: int

class Gap(TypedDict):
    type: Literal["gap"]
    data: EventGap

class HdPrefixes(TypedDict):
    slip44: int
    bip32Public: str
    bip32Private: str
    purposes: list[int]

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

class Indexes(TypedDict):
    tx: IndexState
    address: IndexState
    spender: IndexState
    coinStats: IndexState
    filter: IndexState

class Info(TypedDict):
    service: str
    version: str
    userAgent: str
    network: NetworkName
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
    indexes: Indexes
    protocolVersion: int
    uptime: int
    warnings: list[str]

class Key(TypedDict):
    id: str
    label: str
    scopes: list[Literal["read", "broadcast", "wallet.read", "wallet.spend", "wallet.keys", "wallet", "mining", "metrics", "webhooks", "admin"]]
    createdAt: int
    expiresAt: int | None
    allowedIps: list[str] | None
    rate: KeyRate | None
    wallets: list[str] | None
    lastUsedAt: int | None
    revokedAt: int | None

class KeyRate(TypedDict):
    perSecond: float
    burst: int

class Keys(TypedDict):
    items: list[Key]

class Limits(TypedDict):
    key: Caller
    rate: CallRate | None
    use: Use
    limits: CallerLimits
    unitsPerCall: UnitsPerCall
    pages: dict[str, PageLimits]

class Listing(TypedDict):
    schema: Literal[1]
    name: str
    symbol: str
    decimals: Literal[8]
    unit: CoinUnit
    network: NetworkName
    isTestnet: bool
    genesisHash: str
    genesisTime: int
    networkMagic: str
    consensus: ListingConsensus
    supply: ListingSupply
    emission: ListingEmission
    addresses: ListingAddresses
    hd: HdPrefixes
    ports: DefaultPorts
    fees: ListingFees
    confirmations: AdvisedConfirmations
    software: Software
    links: ListingLinks
    endpoints: dict[str, str]
    features: dict[str, bool]
    status: ListingStatus

class ListingAddresses(TypedDict):
    formats: list[AddressFormat]
    bech32Hrp: str
    wifPrefix: int
    memoRequired: bool

class ListingConsensus(TypedDict):
    type: str
    algorithm: str
    targetBlockTime: int
    retargetInterval: int
    maxBlockWeight: int
    coinbaseMaturity: int

class ListingEmission(TypedDict):
    initialSubsidy: str
    currentSubsidy: str
    halvingInterval: int
    nextHalvingHeight: int
    blocksToHalving: int
    estimatedHalvingTime: int

class ListingFees(TypedDict):
    minRelayFeeRate: float
    incrementalFeeRate: float
    dustRelayFeeRate: float
    unit: str

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

class LoggedIn(TypedDict):
    expiresAt: int
    scopes: list[Literal["read", "broadcast", "metrics", "wallet.read", "admin"]]

class LoggedOut(TypedDict):
    ended: bool

class Login(TypedDict):
    code: str

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
    clusterLimit: ClusterSize
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
    tip: BlockReference | None

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
    block: NotRequired[Block]

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
    tx: NotRequired[Tx]

class NextRetarget(TypedDict):
    height: int
    difficulty: float
    change: float
    time: int

class Outpoint(TypedDict):
    txid: str
    vout: int

class Outspend(TypedDict):
    spent: bool | None
    txid: str | None
    vin: int | None
    status: TxStatus | None

PackageMember = TypedDict('PackageMember', {
    'txid': 'str',
    'status': 'PackageMemberStatus',
    'vsize': 'int | None',
    'fee': 'int | None',
    'feeRate': 'float | None',
    'effectiveFeeRate': 'float | None',
    'reason': 'str | None',
    'class': 'RejectionClass | None',
    'retryable': 'bool | None',
    'debug': 'str | None',
})

class PackageResult(TypedDict):
    packageMessage: str
    results: dict[str, PackageMember]
    replaced: list[str]

class PageLimits(TypedDict):
    default: int
    max: int

class PaidOutput(TypedDict):
    n: int
    value: int

class PastRetarget(TypedDict):
    height: int
    time: int
    difficulty: float

class Peer(TypedDict):
    id: int
    address: str
    network: str
    inbound: bool
    connectionType: str
    transport: PeerTransport
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

class Prevout(TypedDict):
    value: int
    height: int | None
    isCoinbase: bool
    script: Script

class ProjectedBlock(TypedDict):
    txCount: int
    vsize: int
    weight: int
    totalFee: int
    medianFeeRate: float
    feeRange: list[float]

class Readiness(TypedDict):
    status: CheckStatus
    service: str
    time: int
    durationMs: int
    checks: dict[str, ReadinessCheck]

class ReadinessCheck(TypedDict):
    status: CheckStatus

class RecentTx(TypedDict):
    txid: str
    fee: int
    vsize: int
    feeRate: float
    valueOut: int
    time: int

class RemoveWatchesRequest(TypedDict):
    ids: NotRequired[list[str]]
    all: NotRequired[bool]

class RemovedWatches(TypedDict):
    deleted: int
    missing: list[str]
    total: int

class RemovedWebhook(TypedDict):
    deleted: int

class Reorg(TypedDict):
    type: Literal["reorg"]
    data: ReorgData

class ReorgData(TypedDict):
    cursor: str
    seq: int
    time: int
    forkHeight: int
    forkHash: str
    oldTip: BlockReference
    newTip: BlockReference
    disconnected: list[str]
    connected: list[str]
    depth: int
    txs: list[TxFate]
    txsComplete: bool

class ReorgOutput(TypedDict):
    n: int
    value: int
    address: str | None

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
    type: ScriptType
    address: str | None

class ScriptSig(TypedDict):
    hex: str
    asm: str

class Session(TypedDict):
    id: str
    expiresAt: int
    idleExpiresAt: int
    scopes: list[Literal["read", "broadcast", "metrics", "wallet.read", "admin"]]
    csrfToken: str

class Software(TypedDict):
    name: str
    version: str
    userAgent: str
    protocolVersion: int
    license: str | None

class SpendingInput(TypedDict):
    n: int
    txid: str
    vout: int
    value: int

class StoredWatch(TypedDict):
    id: str
    kind: WatchKind
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
    'class': 'RejectionClass | None',
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
    reason: RemovalReason
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

class TxFate(TypedDict):
    txid: str
    fate: Fate
    conflict: str | None
    outputs: NotRequired[list[ReorgOutput]]

class TxInput(TypedDict):
    txid: str | None
    vout: int | None
    sequence: int
    coinbase: str | None
    scriptSig: ScriptSig
    witness: list[str]
    prevout: Prevout | None

class TxOutput(TypedDict):
    n: int
    value: int
    spent: bool | None
    script: Script

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
    coinbase: CoinbaseProof | None
    tip: Tip

class TxRejectedBody(TypedDict):
    code: Literal["tx_rejected"]
    message: str
    details: TxRejection
    requestId: str

class TxRejectedError(TypedDict):
    error: TxRejectedBody

TxRejection = TypedDict('TxRejection', {
    'reason': 'str',
    'debug': 'str | None',
    'class': 'RejectionClass',
    'retryable': 'bool',
    'txid': 'str',
    'conflicts': 'list[str]',
    'missingInputs': 'list[Outpoint]',
})

class TxStatus(TypedDict):
    confirmed: bool
    blockHash: str | None
    blockHeight: int | None
    blockIndex: int | None
    blockTime: int | None
    confirmations: int

class TxTotal(TypedDict):
    confirmed: int
    mempool: int

class TxidsRequest(TypedDict):
    txids: list[str]

class TxsBody(TypedDict):
    txs: list[str]

class TxsDetails(TypedDict):
    tip: Tip
    items: list[Tx]
    missing: list[str]
    pruned: list[str]
    remaining: list[str]

class UnitsPerCall(TypedDict):
    xpubKeys: int
    chartPoints: int
    fullTxs: int
    txDetails: int
    addresses: int
    watches: int

class Use(TypedDict):
    sockets: int
    storedWatches: int

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

class UtxoTotal(TypedDict):
    count: int
    value: int

class UtxosPage(TypedDict):
    address: str
    total: UtxoTotal
    tip: Tip
    items: list[Utxo]
    nextCursor: str | None
    next: str | None

class WalletTransaction(TypedDict):
    type: Literal["walletTransaction"]
    data: WalletTransactionData

class WalletTransactionData(TypedDict):
    cursor: str
    seq: int
    time: int
    sub: int
    wallet: str
    txid: str
    phase: WalletTransactionPhase
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
    details: list[WalletTransactionDetail]

class WalletTransactionDetail(TypedDict):
    address: NotRequired[str]
    parent_descs: NotRequired[list[str]]
    category: WalletCategory
    amount: int
    label: NotRequired[str]
    vout: int
    fee: NotRequired[int]
    abandoned: bool

class Watch(TypedDict):
    id: str
    kind: WatchKind
    value: str
    confirmations: list[int]
    label: str | None
    createdAt: int

class WatchRequest(TypedDict):
    kind: WatchKind
    value: str
    confirmations: NotRequired[list[int]]
    label: NotRequired[str | None]

class WatchesPage(TypedDict):
    total: int
    tip: Tip
    items: list[Watch]
    nextCursor: str | None
    next: str | None

class WatchesRequest(TypedDict):
    watches: list[WatchRequest]

class Webhook(TypedDict):
    id: str
    url: str
    types: list[KeptEventType]
    wallets: list[str] | None
    label: str | None
    maxEvents: int
    createdAt: int
    previousSecretUntil: int | None
    status: WebhookStatus
    cursor: str
    lag: WebhookLag
    failures: int
    failingSince: int | None
    nextAttemptAt: int | None
    deliveredAt: int | None
    lastError: WebhookFailure | None

class WebhookFailure(TypedDict):
    code: str
    message: str
    status: int | None
    at: int

class WebhookLag(TypedDict):
    events: int
    seconds: int

class WebhookReplay(TypedDict):
    after: str | float

class WebhookRequest(TypedDict):
    url: str
    types: NotRequired[list[KeptEventType]]
    wallets: NotRequired[list[str] | None]
    label: NotRequired[str | None]
    maxEvents: NotRequired[int]
    secret: NotRequired[str]
    after: NotRequired[str | float]

class WebhookSecretRequest(TypedDict):
    secret: NotRequired[str]
    overlap: NotRequired[int]

class WebhookTest(TypedDict):
    delivered: bool
    status: int | None
    durationMs: int
    error: WebhookTestError | None

class WebhookTestError(TypedDict):
    code: str
    message: str

class WebhookWithSecret(TypedDict):
    id: str
    url: str
    types: list[KeptEventType]
    wallets: list[str] | None
    label: str | None
    maxEvents: int
    createdAt: int
    previousSecretUntil: int | None
    status: WebhookStatus
    cursor: str
    lag: WebhookLag
    failures: int
    failingSince: int | None
    nextAttemptAt: int | None
    deliveredAt: int | None
    lastError: WebhookFailure | None
    secret: str | None

class Webhooks(TypedDict):
    items: list[Webhook]

AddressTransactionPhase = Literal["mempool", "confirmed", "reverted", "removed"]

BroadcastStatus = Literal["accepted", "scheduled", "already_in_mempool", "already_confirmed"]

CallerKind = Literal["key", "static", "cookie", "rpcauth", "session"]

ChartSeries = Literal["difficulty", "hashrate", "blockInterval", "blockSize", "blockWeight", "txCount", "fees", "feeRate", "supply", "mempoolCount", "mempoolVsize", "peers"]

ChartUnit = Literal["ratio", "hash/s", "s", "B", "WU", "tx", "sat", "sat/vB", "vB", "peer"]

CheckStatus = Literal["ok", "degraded", "fail"]

ErrorCode = Literal["invalid_request", "invalid_parameter", "invalid_hash", "invalid_txid", "invalid_height", "invalid_address", "invalid_descriptor", "private_key_refused", "too_many_scripts", "invalid_cursor", "tx_decode_failed", "missing_credentials", "invalid_credentials", "insufficient_scope", "ip_not_allowed", "origin_not_allowed", "invalid_csrf_token", "not_found", "block_not_found", "tx_not_found", "method_not_allowed", "tx_unconfirmed", "cursor_reorged", "limit_exceeded", "block_pruned", "payload_too_large", "unsupported_media_type", "misdirected_request", "tx_rejected", "upgrade_required", "rate_limited", "too_many_connections", "audit_unavailable", "internal_error", "feature_disabled", "warming_up", "syncing", "index_not_ready", "overloaded", "shutting_down"]

Fate = Literal["reconfirmed", "mempool", "conflicted", "dropped"]

FeeEstimator = Literal["mempool_policy", "block_policy", "floor"]

KeptEventType = Literal["newBlock", "newTransaction", "mempoolUpdate", "addressTransaction", "confirmation", "blockDisconnected", "reorg", "transactionRemoved", "walletTransaction"]

NetworkName = Literal["main", "testnet4", "signet", "regtest"]

PackageMemberStatus = Literal["accepted", "already_in_mempool", "rejected", "not_validated"]

PeerTransport = Literal["detecting", "v1", "v2"]

RejectionClass = Literal["consensus", "script", "policy", "fee", "missing-inputs", "conflict", "premature"]

RemovalReason = Literal["block", "replaced", "conflict", "sizelimit", "expiry", "reorg"]

Scope = Literal["read", "broadcast", "wallet.read", "wallet.spend", "wallet.keys", "wallet", "mining", "metrics", "webhooks", "admin"]

ScriptType = Literal["pubkey", "pubkeyhash", "scripthash", "multisig", "nulldata", "witness_v0_keyhash", "witness_v0_scripthash", "witness_v1_taproot", "anchor", "witness_unknown", "nonstandard"]

WalletCategory = Literal["send", "receive", "generate", "immature", "orphan"]

WalletTransactionPhase = Literal["mempool", "confirmed", "reverted", "conflicted", "removed", "abandoned"]

WatchKind = Literal["address", "script", "tx", "outpoint"]

WebhookStatus = Literal["active", "paused", "disabled"]

# Method and path of each operation.
OPERATIONS: dict[str, tuple[str, str]] = {
    "getHealthz": ("GET", "/healthz"),
    "getReadyz": ("GET", "/readyz"),
    "getMetrics": ("GET", "/metrics"),
    "getHealth": ("GET", "/api/health"),
    "getBlock": ("GET", "/api/block/{hash}"),
    "getBlockByHeight": ("GET", "/api/block-by-height/{height}"),
    "getBlocks": ("GET", "/api/blocks"),
    "getBlocksTip": ("GET", "/api/blocks/tip"),
    "getBlockTxs": ("GET", "/api/block/{hash}/txs"),
    "getBlockTxids": ("GET", "/api/block/{hash}/txids"),
    "getBlockHeader": ("GET", "/api/block/{hash}/header"),
    "getBlockRaw": ("GET", "/api/block/{hash}/raw"),
    "getBlockHex": ("GET", "/api/block/{hash}/hex"),
    "getBlockStatus": ("GET", "/api/block/{hash}/status"),
    "getHeaders": ("GET", "/api/headers"),
    "getTx": ("GET", "/api/tx/{txid}"),
    "getTxProof": ("GET", "/api/tx/{txid}/proof"),
    "getTxStatus": ("GET", "/api/tx/{txid}/status"),
    "getTxHex": ("GET", "/api/tx/{txid}/hex"),
    "getTxRaw": ("GET", "/api/tx/{txid}/raw"),
    "getTxsStatus": ("POST", "/api/txs/status"),
    "getTxsDetails": ("POST", "/api/txs/details"),
    "getTxOutspends": ("GET", "/api/tx/{txid}/outspends"),
    "getTxOutspend": ("GET", "/api/tx/{txid}/outspend/{n}"),
    "getTxCpfp": ("GET", "/api/tx/{txid}/cpfp"),
    "getBalance": ("GET", "/api/balance/{address}"),
    "getBalances": ("POST", "/api/balances"),
    "getAddress": ("GET", "/api/address/{address}"),
    "getAddressTxs": ("GET", "/api/address/{address}/txs"),
    "getAddressUtxos": ("GET", "/api/address/{address}/utxos"),
    "getUtxos": ("POST", "/api/utxos"),
    "getXpub": ("POST", "/api/xpub"),
    "getXpubTxs": ("POST", "/api/xpub/txs"),
    "getXpubUtxos": ("POST", "/api/xpub/utxos"),
    "validateAddress": ("GET", "/api/validate/{address}"),
    "getMempoolAddress": ("GET", "/api/mempool/address/{address}"),
    "getDifficulty": ("GET", "/api/difficulty"),
    "getChart": ("GET", "/api/chart/{series}"),
    "getSupplyCirculating": ("GET", "/api/supply/circulating"),
    "getSupplyIssued": ("GET", "/api/supply/issued"),
    "getSupplyTotal": ("GET", "/api/supply/total"),
    "getSupplyMax": ("GET", "/api/supply/max"),
    "getTxReplacements": ("GET", "/api/tx/{txid}/replacements"),
    "broadcastTx": ("POST", "/api/tx"),
    "testTxs": ("POST", "/api/tx/test"),
    "broadcastPackage": ("POST", "/api/txs/package"),
    "getMempool": ("GET", "/api/mempool"),
    "getMempoolTxids": ("GET", "/api/mempool/txids"),
    "getMempoolRecent": ("GET", "/api/mempool/recent"),
    "getMempoolBlocks": ("GET", "/api/mempool/blocks"),
    "getFees": ("GET", "/api/fees"),
    "getInfo": ("GET", "/api/info"),
    "getPeers": ("GET", "/api/peers"),
    "getListing": ("GET", "/api/listing"),
    "getEvents": ("GET", "/api/events"),
    "getWatches": ("GET", "/api/watches"),
    "putWatches": ("POST", "/api/watches"),
    "removeWatches": ("DELETE", "/api/watches"),
    "getWatch": ("GET", "/api/watches/{id}"),
    "removeWatch": ("DELETE", "/api/watches/{id}"),
    "createWsTicket": ("POST", "/api/ws-ticket"),
    "getConfigLimits": ("GET", "/api/config/limits"),
    "getWebhooks": ("GET", "/api/webhooks"),
    "createWebhook": ("POST", "/api/webhooks"),
    "getWebhook": ("GET", "/api/webhooks/{id}"),
    "removeWebhook": ("DELETE", "/api/webhooks/{id}"),
    "pauseWebhook": ("POST", "/api/webhooks/{id}/pause"),
    "resumeWebhook": ("POST", "/api/webhooks/{id}/resume"),
    "replayWebhook": ("POST", "/api/webhooks/{id}/replay"),
    "replaceWebhookSecret": ("POST", "/api/webhooks/{id}/secret"),
    "testWebhook": ("POST", "/api/webhooks/{id}/test"),
    "getLogIn": ("POST", "/api/session"),
    "getSession": ("GET", "/api/session"),
    "getLogOut": ("DELETE", "/api/session"),
    "getKeys": ("GET", "/api/keys"),
    "getAudit": ("GET", "/api/audit"),
}
