/** Reasons why a delivery fails. They are labels of metrics and codes of `lastError`. */
export type DeliveryFault =
  | 'dns'
  | 'forbidden_address'
  | 'connect'
  | 'tls'
  | 'timeout'
  | 'redirect'
  | 'status'
  | 'bad_reply'
  | 'internal';

/** The end of one attempt: the receiver has accepted the delivery, or the reason why it has not. */
export type DeliveryOutcome =
  | { readonly ok: true; readonly status: number }
  | { readonly ok: false; readonly code: DeliveryFault; readonly message: string; readonly status: number | null };

/** Thrown where a delivery fails. */
export class DeliveryError extends Error {
  readonly code: DeliveryFault;
  readonly status: number | null;
  /** Whether nothing was sent to the receiver, so that another of its addresses may be tried. */
  readonly isUnsent: boolean;

  constructor(
    code: DeliveryFault,
    message: string,
    { status = null, isUnsent = false }: { readonly status?: number | null; readonly isUnsent?: boolean } = {},
  ) {
    super(message);
    this.code = code;
    this.status = status;
    this.isUnsent = isUnsent;
  }
}
