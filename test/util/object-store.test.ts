import { afterAll, describe, expect, test } from 'bun:test';
import { type ObjectSink, ObjectStore, type RequestLimits } from '../../src/util/object-store.ts';

const SECRET = 'secret-of-the-access-key';
const LIMITS: RequestLimits = { quickMs: 300, transferMs: 300, attempts: 3, pauseMs: 1 };
const PLACE = { bucket: 'snapshots', prefix: 'a/b' };
const NEVER = new AbortController().signal;

type Answer = (request: Request) => Response | Promise<Response>;
const servers: { stop(force: boolean): Promise<void> }[] = [];
afterAll(() => Promise.all(servers.map((server) => server.stop(true))));

/** A server that gives each request the next answer; the last answer is repeated. */
function storeWith(answers: readonly Answer[], limits = LIMITS) {
  const requests: string[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      requests.push(`${request.method} ${new URL(request.url).pathname}`);
      return answers[Math.min(requests.length, answers.length) - 1]!(request);
    },
  });
  servers.push(server);
  return { store: new ObjectStore(PLACE, accessTo(server.port!), limits), requests };
}

function accessTo(port: number) {
  return {
    endpoint: `http://127.0.0.1:${port}`,
    region: 'eu-central-1',
    accessKeyId: 'access-key',
    secretAccessKey: SECRET,
    sessionToken: 'token-of-the-session',
  };
}

/** Collects an object of at most `limit` bytes; `isRight` decides about the whole. */
function collect(limit = 1000, isRight: (text: string) => boolean = () => true) {
  const texts: string[] = [];
  const sink: ObjectSink = {
    start: () => void texts.push(''),
    write(bytes) {
      texts[texts.length - 1] += Buffer.from(bytes).toString();
      return texts.at(-1)!.length <= limit;
    },
    finish: () => isRight(texts.at(-1)!),
  };
  return { sink, texts };
}

const status =
  (code: number, text = '') =>
  () =>
    new Response(text, { status: code });
const error = (code: string) => `<Error><Code>${code}</Code><Message>${SECRET}</Message></Error>`;
const hang = () => new Promise<Response>(() => {});

async function failureOf(run: Promise<unknown>): Promise<string> {
  const found = await run.then(
    () => null,
    (thrown: Error) => thrown,
  );
  expect(found?.name).toBe('OperatorError');
  return found!.message;
}

describe('requests', () => {
  test('have the bucket and the prefix in their path, and a signature for their method', async () => {
    let url = '';
    const { store, requests } = storeWith([
      (request) => {
        url = request.url;
        return new Response(null, { headers: { 'content-length': '0' } });
      },
    ]);
    expect(store.name).toBe('s3://snapshots/a/b');
    await store.putObject('files/x', Buffer.from('content'), NEVER);
    expect(requests).toEqual(['PUT /snapshots/a/b/files/x']);
    expect(url).toContain('X-Amz-Signature=');
    expect(url).not.toContain(SECRET);
  });

  test('are repeated where the server fails for a time, and a 404 is an answer', async () => {
    const { store, requests } = storeWith([status(503), status(429), status(404)]);
    expect(await store.sizeOf('files/x', NEVER)).toBeNull();
    expect(requests).toEqual(Array(3).fill('HEAD /snapshots/a/b/files/x'));
  });

  test('end after a bounded number of attempts', async () => {
    const { store, requests } = storeWith([status(500, error('InternalError'))]);
    expect(await failureOf(store.putObject('files/x', Buffer.from('content'), NEVER))).toBe(
      's3://snapshots/a/b/files/x: the server answers with HTTP 500 (InternalError), in 3 attempts',
    );
    expect(requests).toHaveLength(3);
  });

  test('have a time limit, for the head and for the body of a reply', async () => {
    const body = () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(Buffer.from('the first bytes')),
          pull: () => new Promise(() => {}),
        }),
      );
    for (const answer of [hang, body]) {
      const { store, requests } = storeWith([answer]);
      expect(await failureOf(store.readObject('files/x', collect().sink, NEVER))).toBe(
        's3://snapshots/a/b/files/x: the server has not answered within 0.3 s, in 3 attempts',
      );
      expect(requests).toHaveLength(3);
    }
  });

  test('end with an abort while they wait for a reply', async () => {
    const abort = new AbortController();
    const { store } = storeWith(
      [
        () => {
          abort.abort(new Error('stopped by SIGINT'));
          return hang();
        },
      ],
      { ...LIMITS, quickMs: 60_000 },
    );
    await expect(store.sizeOf('files/x', abort.signal)).rejects.toThrow('stopped by SIGINT');
  });

  test('a server that nothing listens for is named without the signed URL', async () => {
    const { store } = storeWith([status(200)]);
    await servers.pop()!.stop(true);
    const message = await failureOf(store.sizeOf('files/x', NEVER));
    expect(message).toMatch(
      /^s3:\/\/snapshots\/a\/b\/files\/x: http:\/\/127\.0\.0\.1:\d+ cannot be reached \(\w+\), in 3 attempts$/,
    );
  });

  test.each([
    [
      403,
      'SignatureDoesNotMatch',
      /^s3:\/\/snapshots\/a\/b\/files\/x: access is denied \(SignatureDoesNotMatch\): check the access key/,
    ],
    [404, 'NoSuchBucket', /^s3:\/\/snapshots: the bucket does not exist$/],
    [
      400,
      'AuthorizationHeaderMalformed',
      /HTTP 400 \(AuthorizationHeaderMalformed\): name the region of the bucket with --region/,
    ],
    [301, 'PermanentRedirect', /HTTP 301 \(PermanentRedirect\): name the region/],
    [501, '', /the server answers with HTTP 501$/],
  ])('a refusal with HTTP %d %s is not repeated, and its text is not shown', async (code, name, expected) => {
    const { store, requests } = storeWith([
      () =>
        new Response(name === '' ? SECRET : error(name), {
          status: code,
          headers: { location: 'http://127.0.0.1:1/' },
        }),
    ]);
    const message = await failureOf(store.readObject('files/x', collect().sink, NEVER));
    expect(message).toMatch(expected);
    for (const secret of [SECRET, 'token-of-the-session', 'X-Amz', 'access-key'])
      expect(message.replace('the access key', '')).not.toContain(secret);
    expect(requests).toHaveLength(1);
  });
});

describe('an object', () => {
  test('is read again from its beginning where the connection ends amid it', async () => {
    const replies = ['Content-Length: 100\r\n\r\nhalf', 'Content-Length: 9\r\n\r\nthe whole'];
    const server = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: { data: (socket) => void socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\n${replies.shift()}`) },
    });
    servers.push({ stop: async () => server.stop(true) });
    const store = new ObjectStore(PLACE, accessTo(server.port), LIMITS);
    const { sink, texts } = collect();
    expect(await store.readObject('files/x', sink, NEVER)).toBe('read');
    expect(texts.at(-1)).toBe('the whole');
  });

  test('with wrong content is requested once more', async () => {
    const { store, requests } = storeWith([status(200, 'damaged'), status(200, 'right'), status(200, 'damaged')]);
    const isRight = (text: string) => text === 'right';
    expect(await store.readObject('files/x', collect(1000, isRight).sink, NEVER)).toBe('read');
    expect(await store.readObject('files/x', collect(1000, isRight).sink, NEVER)).toBe('wrong');
    expect(requests).toHaveLength(4);
  });

  test('that is longer than it may be is not read to its end', async () => {
    let pulled = 0;
    const endless = () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            pulled++;
            controller.enqueue(Buffer.alloc(100_000, 'x'));
          },
        }),
      );
    const { store } = storeWith([endless], { ...LIMITS, transferMs: 60_000 });
    expect(await store.readObject('files/x', collect(1000).sink, NEVER)).toBe('wrong');
    expect(pulled).toBeLessThan(1000);
  });

  test('passes an error of the sink on, and is not requested again', async () => {
    const { store, requests } = storeWith([status(200, 'content')]);
    const sink: ObjectSink = {
      ...collect().sink,
      write() {
        throw new Error('no space left on the device');
      },
    };
    await expect(store.readObject('files/x', sink, NEVER)).rejects.toThrow('no space left on the device');
    expect(requests).toHaveLength(1);
  });
});
