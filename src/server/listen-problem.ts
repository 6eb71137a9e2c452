import { isIP } from 'node:net';
import type { ListenAddress } from '../http/options.ts';
import { OperatorError } from '../util/operator-error.ts';

/** Codes of resolvers for an unknown name, and of the system for an address that is not local. */
const NO_SUCH_ADDRESS = new Set(['EADDRNOTAVAIL', 'ENOTFOUND', 'ENXIO', 'EAI_AGAIN', 'EAI_NONAME']);

/**
 * Returns a sentence for the operator if a listener failed to start for a known cause, and the error itself otherwise.
 */
export function listenProblem(setting: string, { host, port }: ListenAddress, error: unknown): Error {
  if (!(error instanceof Error) || error.name === 'OperatorError') return error as Error;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (NO_SUCH_ADDRESS.has(code)) return new OperatorError(`${setting}: ${host} is not an address of this machine`);
  // Bun reports a name that cannot be resolved with the error that the system call left: EINVAL, or the one below.
  const isName = isIP(host) === 0 && host !== 'localhost';
  if (code === 'EINVAL' && isName) return new OperatorError(`${setting}: ${host} cannot be resolved`);
  if (code === 'EACCES')
    return new OperatorError(`${setting}: no permission to listen on ${host}:${port}: choose a port above 1023`, {
      isOfSettings: true,
    });
  if (code !== 'EADDRINUSE') return error;
  const unresolved = isName ? `, or ${host} cannot be resolved` : '';
  return new OperatorError(
    `${setting}: ${host}:${port} is in use${unresolved}: stop what listens there, or choose another address (--${setting}=127.0.0.1:18500)`,
  );
}
