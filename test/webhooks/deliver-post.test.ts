import { describe, expect, test } from 'bun:test';
import { deliverPost, type PostMeans } from '../../src/webhooks/deliver-post.ts';
import { DeliveryError } from '../../src/webhooks/delivery-outcome.ts';
import type { PostTarget } from '../../src/webhooks/post-exchange.ts';
import { AllowedNetworks, addressText } from '../../src/webhooks/target-address.ts';
import { certificateText, keyText } from '../lib/self-signed.ts';
import { WebhookReceiver } from '../lib/webhook-receiver.ts';

const LOOPBACK = ['127.0.0.0/8'];
const BODY = '{"webhook":"w","cursor":"c","events":[]}';
const TLS = { cert: certificateText, key: keyText };

function means(more: Partial<PostMeans> = {}, allowed: readonly string[] = LOOPBACK): PostMeans {
  return {
    allowed: new AllowedNetworks(allowed),
    limits: { connectMs: 2000, replyMs: 2000 },
    authorities: [certificateText],
    userAgent: 'test',
    ...more,
  };
}

const deliver = (url: string, using: PostMeans = means(), body = BODY) =>
  deliverPost({ url, headers: { 'webhook-id': 'c' }, body }, using);

/** A receiver that answers each connection with some bytes. */
function listen(reply: string | ((socket: { write(text: string): number; end(): unknown }) => void)) {
  return Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket) {
        if (typeof reply === 'string') socket.write(reply);
        else reply(socket);
      },
    },
  });
}

describe('the target of a delivery', () => {
  test('is resolved once, and connected to at the checked address with its name', async () => {
    // The second resolution of a rebinding name would be loopback.
    const answers = [['93.184.216.34', '2606:4700::1'], ['127.0.0.1']];
    const targets: PostTarget[] = [];
    const outcome = await deliver(
      'https://rebind.example:8443/hook?a=1',
      means(
        {
          resolve: () => Promise.resolve(answers.shift()!),
          exchange: (target) => Promise.resolve(targets.push(target) && 200),
        },
        [],
      ),
    );
    expect(outcome).toEqual({ ok: true, status: 200 });
    expect(answers).toHaveLength(1);
    expect(targets).toHaveLength(1);
    const [{ address, port, tlsName, bytes }] = targets as [PostTarget];
    expect([addressText(address), port, tlsName]).toEqual(['93.184.216.34', 8443, 'rebind.example']);
    expect(Buffer.from(bytes).toString()).toBe(
      'POST /hook?a=1 HTTP/1.1\r\nHost: rebind.example:8443\r\nUser-Agent: test\r\nAccept: */*\r\n' +
        `Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\nConnection: close\r\nwebhook-id: c\r\n\r\n${BODY}`,
    );
  });

  test.each([
    ['one of several addresses that is private', ['8.8.8.8', '10.0.0.1']],
    ['loopback', ['127.0.0.1']],
    ['mapped loopback', ['::ffff:127.0.0.1']],
    ['link-local with a zone', ['fe80::1%eth0']],
  ])('is refused for %s', async (_, addresses) => {
    const exchange = () => Promise.reject(new Error('it must not be connected to'));
    const resolve = () => Promise.resolve(addresses);
    const outcome = await deliver('https://name.example/', means({ resolve, exchange }, []));
    expect(outcome).toMatchObject({ ok: false, code: 'forbidden_address' });
  });

  test('is refused if the resolver gives something that is not an address', async () => {
    for (const addresses of [[], ['127.1'], ['8.8.8.8', 'x']])
      expect(await deliver('https://a.example/', means({ resolve: () => Promise.resolve(addresses) }))).toMatchObject({
        code: 'dns',
      });
  });

  test('that resolves by the system to loopback is refused, and delivered to where that is allowed', async () => {
    using receiver = new WebhookReceiver();
    const url = `http://localhost:${receiver.port}/`;
    expect(await deliver(url, means({}, []))).toMatchObject({ ok: false, code: 'forbidden_address' });
    expect(receiver.deliveries).toHaveLength(0);
    expect(await deliver(url, means({}, ['127.0.0.0/8', '::1']))).toEqual({ ok: true, status: 204 });
    expect(receiver.deliveries[0]!.headers.host).toBe(`localhost:${receiver.port}`);
  });

  test('is tried at its next address when the first does not accept connections', async () => {
    using receiver = new WebhookReceiver();
    const resolve = () => Promise.resolve(['127.0.0.2', '127.0.0.1']);
    expect(await deliver(`http://two.example:${receiver.port}/`, means({ resolve }))).toEqual({
      ok: true,
      status: 204,
    });
  });

  test('is tried at each address in its share of the time, the families in turn', async () => {
    // The addresses of one family accept no connection and refuse none.
    const hole = ['2606:4700::1', '2606:4700::2', '2606:4700::3', '2606:4700::4'];
    const tried: string[] = [];
    const exchange: PostMeans['exchange'] = ({ address }, { connectMs }) => {
      tried.push(addressText(address));
      if (address.length === 4) return Promise.resolve(204);
      return Bun.sleep(connectMs).then(() => {
        throw new DeliveryError('timeout', 'the connection was not open in time', { isUnsent: true });
      });
    };
    const resolve = () => Promise.resolve([...hole, '8.8.8.8']);
    const limits = { connectMs: 200, replyMs: 2000 };
    expect(await deliver('https://dual.example/', means({ resolve, exchange, limits }, []))).toMatchObject({
      ok: true,
    });
    expect(tried).toHaveLength(2);
    expect(tried[1]).toBe('8.8.8.8');
  });

  test('is not tried at another address once the request may have arrived', async () => {
    const tried: string[] = [];
    const exchange: PostMeans['exchange'] = ({ address }) => {
      tried.push(addressText(address));
      return Promise.reject(new DeliveryError('timeout', 'the receiver did not reply in time'));
    };
    const resolve = () => Promise.resolve(['8.8.8.8', '8.8.4.4']);
    expect(await deliver('https://two.example/', means({ resolve, exchange }, []))).toMatchObject({ code: 'timeout' });
    expect(tried).toEqual(['8.8.8.8']);
  });

  test('is not resolved for longer than the time limit', async () => {
    const resolve = () => new Promise<string[]>(() => {});
    const limits = { connectMs: 50, replyMs: 50 };
    expect(await deliver('https://slow.example/', means({ resolve, limits }))).toMatchObject({ code: 'timeout' });
  });
});

describe('over TLS', () => {
  test('the certificate is verified for the name', async () => {
    using receiver = new WebhookReceiver({ tls: TLS });
    const resolve = () => Promise.resolve(['127.0.0.1']);
    const { port } = receiver;
    expect(await deliver(`https://localhost:${port}/`, means({ resolve }))).toEqual({ ok: true, status: 204 });
    expect(await deliver(`https://127.0.0.1:${port}/`, means({ resolve }))).toEqual({ ok: true, status: 204 });
    expect(receiver.deliveries).toHaveLength(2);
    expect(await deliver(`https://other.example:${port}/`, means({ resolve }))).toMatchObject({ code: 'tls' });
    expect(await deliver(`https://localhost:${port}/`, means({ resolve, authorities: null }))).toMatchObject({
      code: 'tls',
    });
    // Nothing was sent to a receiver without a valid certificate.
    expect(receiver.deliveries).toHaveLength(2);
  });

  test('an end of the connection before the certificate is verified is not a bad reply', async () => {
    const resolve = () => Promise.resolve(['127.0.0.1']);
    for (const close of ['end', 'terminate'] as const) {
      const listener = Bun.listen({
        hostname: '127.0.0.1',
        port: 0,
        socket: { data: (socket) => void socket[close]() },
      });
      expect(await deliver(`https://localhost:${listener.port}/`, means({ resolve }))).toMatchObject({
        code: 'tls',
        message: 'the connection was closed before the certificate was verified',
      });
      listener.stop(true);
    }
  });

  test('a large body arrives whole', async () => {
    using receiver = new WebhookReceiver({ tls: TLS });
    const body = JSON.stringify({
      webhook: 'w',
      cursor: 'c',
      events: [{ type: 'x', data: { text: 'é'.repeat(2e6) } }],
    });
    const resolve = () => Promise.resolve(['127.0.0.1']);
    expect(await deliver(`https://localhost:${receiver.port}/`, means({ resolve }), body)).toMatchObject({ ok: true });
    expect(receiver.deliveries[0]!.text).toBe(body);
  });
});

describe('the reply', () => {
  test('of each status has its outcome, and a redirect is not followed', async () => {
    using receiver = new WebhookReceiver();
    for (const [status, code] of [
      [200, null],
      [204, null],
      [301, 'redirect'],
      [308, 'redirect'],
      [400, 'status'],
      [410, 'status'],
      [503, 'status'],
    ] as const) {
      receiver.answer = () => new Response(null, { status, headers: { location: `${receiver.url}/elsewhere` } });
      const outcome = await deliver(receiver.url);
      expect(outcome).toMatchObject(code === null ? { ok: true, status } : { ok: false, code, status });
    }
    expect(receiver.deliveries.map(({ path }) => path)).toEqual(Array.from({ length: 7 }, () => '/hook'));
  });

  test.each([
    [
      'interim replies before the last one',
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\na: b\r\n\r\nHTTP/1.1 200\r\n\r\n',
      null,
    ],
    ['an endless body', `HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(1e6)}`, null],
    ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n\r\n', 'bad_reply'],
    ['a header without an end', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}`, 'bad_reply'],
    ['interim replies without an end', 'HTTP/1.1 100 x\r\n\r\n'.repeat(2000), 'bad_reply'],
    ['half a header', 'HTTP/1.1 200 OK\r\n', 'timeout'],
    ['nothing', '', 'timeout'],
  ])('with %s', async (_, reply, code) => {
    const listener = listen(reply);
    const limits = { connectMs: 2000, replyMs: 200 };
    const outcome = await deliver(`http://127.0.0.1:${listener.port}/`, means({ limits }));
    expect(outcome.ok ? null : outcome.code).toBe(code as never);
    listener.stop(true);
  });

  test('of one byte at a time does not extend the time limit', async () => {
    const timers: ReturnType<typeof setInterval>[] = [];
    const listener = listen((socket) => void timers.push(setInterval(() => socket.write('H'), 20)));
    const limits = { connectMs: 2000, replyMs: 300 };
    expect(await deliver(`http://127.0.0.1:${listener.port}/`, means({ limits }))).toMatchObject({ code: 'timeout' });
    for (const timer of timers) clearInterval(timer);
    listener.stop(true);
  });

  test('is missing where the receiver closes the connection, or none listens', async () => {
    const listener = listen((socket) => void socket.end());
    const url = `http://127.0.0.1:${listener.port}/`;
    expect(await deliver(url)).toMatchObject({ code: 'bad_reply' });
    listener.stop(true);
    expect(await deliver(url)).toMatchObject({ code: 'connect' });
  });
});

test('the proxies of the environment are not used', async () => {
  using receiver = new WebhookReceiver();
  const script = `
    import { deliverPost } from '${import.meta.dir}/../../src/webhooks/deliver-post.ts';
    import { AllowedNetworks } from '${import.meta.dir}/../../src/webhooks/target-address.ts';
    const limits = { connectMs: 2000, replyMs: 2000 };
    const means = { allowed: new AllowedNetworks(['127.0.0.1']), limits, authorities: null, userAgent: 'test' };
    console.log(JSON.stringify(await deliverPost({ url: '${receiver.url}', headers: {}, body: '{"events":[]}' }, means)));`;
  const proxy = 'http://127.0.0.1:9';
  const env = { ...process.env, HTTP_PROXY: proxy, http_proxy: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy };
  const child = Bun.spawn([process.execPath, '-e', script], { env, stdout: 'pipe' });
  expect(JSON.parse(await new Response(child.stdout).text())).toEqual({ ok: true, status: 204 });
});
