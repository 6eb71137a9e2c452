import { serveRequests } from '../../src/util/worker-port.ts';

let prefix = '';

serveRequests<{ prefix: string }, string, string>({
  open(options) {
    prefix = options.prefix;
  },
  answer(request) {
    if (request === 'fail') throw new Error('asked to fail');
    if (request === 'exit') process.exit(0);
    return prefix + request;
  },
  close() {},
});
