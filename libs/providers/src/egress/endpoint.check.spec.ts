import { EgressPolicy, type EgressRules } from './egress.policy.js';
import { EndpointCheck } from './endpoint.check.js';

/** Creates a check that resolves host names to these addresses, without a DNS server. */
function checkWith(addresses: string[] | Error | 'never', rules: EgressRules = {}): EndpointCheck {
  return new EndpointCheck({
    policy: new EgressPolicy({ howToOpen: 'with ROLLCALL_EGRESS_ALLOW', ...rules }),
    timeoutMs: 20,
    totalTimeoutMs: 1,
    resolve: (_host, _options, done) => {
      if (addresses === 'never') return;
      if (addresses instanceof Error) return done(addresses, []);
      done(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
    },
  });
}

describe('the check of an endpoint', () => {
  it.each([['10.0.0.5'], ['127.0.0.1'], ['169.254.169.254'], ['::1'], ['fd00::1']])(
    'S3.2 rejects a host name that resolves to %s, and names the setting that allows it',
    async (address) => {
      const rejected = checkWith([address]).check('https://agent.example/');
      await expect(rejected).rejects.toMatchObject({ code: 'EGRESS_DENIED' });
      await expect(rejected).rejects.toThrow(/agent\.example.*ROLLCALL_EGRESS_ALLOW/);
    },
  );

  it('A19 rejects every denied address with the same message, which does not reveal the address', async () => {
    const denied = ['10.0.0.5', '127.0.0.1', '169.254.169.254', '100.64.0.1', '::1', 'fd00::1', '224.0.0.1'];
    const urls = denied.flatMap((address) => [
      { address, url: 'https://agent.example/' },
      { address, url: 'http://agent.example/' },
    ]);
    const messages = await Promise.all(
      [...urls, { address: '93.184.216.34', url: 'http://agent.example/' }].map(
        async ({ address, url }) =>
          await checkWith([address])
            .check(url)
            .catch((error: unknown) => (error as Error).message),
      ),
    );
    expect(new Set(messages).size).toBe(1);
    expect(messages[0]).toMatch(/^Calling agent\.example is not allowed: .*ROLLCALL_EGRESS_ALLOW\.$/);
  });

  it.each([
    ['https://Agent.Example:443', 'https://agent.example'],
    ['https://agent.example/a/../b?x=1#part', 'https://agent.example/b?x=1'],
    ['https://agent.example:8443/', 'https://agent.example:8443'],
    ['https://0x5db8d822/a', 'https://93.184.216.34/a'],
    [' https://agent.example/ä ', 'https://agent.example/%C3%A4'],
  ])('A13 returns %s in normal form', async (endpoint, normalised) => {
    expect(await checkWith(['93.184.216.34']).check(endpoint)).toBe(normalised);
  });

  it.each([
    'https://1.1.1.1\\@169.254.169.254/',
    'https:\\\\agent.example',
    'https://agent.example/a\tb',
    'https://agent\n.example/',
  ])('A13 rejects %j, which URL parsers interpret differently', async (endpoint) => {
    await expect(checkWith(['93.184.216.34']).check(endpoint)).rejects.toThrow(/backslash or a control character/);
  });

  it('S3.2 accepts a host name that resolves to a public address, or to a network that the operator allows', async () => {
    await expect(checkWith(['93.184.216.34']).check('https://agent.example/')).resolves.toBe('https://agent.example');
    const internal = checkWith(['10.0.0.5'], { allow: ['10.0.0.0/8'] });
    await expect(internal.check('http://agent.internal:8080/')).resolves.toBe('http://agent.internal:8080');
  });

  it('S3.2 accepts a host name if at least one of its addresses is allowed, because a connection uses that address', async () => {
    const mixed = checkWith(['10.0.0.5', '93.184.216.34']).check('https://agent.example/');
    await expect(mixed).resolves.toBe('https://agent.example');
  });

  it('S3.2 accepts a host name that cannot be resolved or takes too long, because each connection checks the address again', async () => {
    await expect(checkWith(new Error('ENOTFOUND')).check('https://soon.example/')).resolves.toBe(
      'https://soon.example',
    );
    await expect(checkWith('never').check('https://slow.example/')).resolves.toBe('https://slow.example');
  });

  it('S3.2 accepts a host name without a lookup while many other host names are being resolved', async () => {
    const check = checkWith('never');
    const checks = Array.from({ length: 10 }, async () => await check.check('https://slow.example/'));
    expect(await Promise.all(checks)).toHaveLength(10);
  });

  it('S3.2 checks each of many URLs, and resolves no further host name after the total time limit', async () => {
    const slow = ['https://a.example', 'https://b.example'];
    const late = ['https://c.example', 'https://d.example'];
    const literals = ['https://93.184.216.34', 'https://10.0.0.5'];
    const checked = await checkWith('never').checkAll([...slow, ...slow, ...late, ...literals]);
    expect([...checked.keys()].toSorted()).toEqual([...slow, ...late, ...literals].toSorted());
    for (const url of [...slow, 'https://93.184.216.34']) expect(checked.get(url)).toEqual({ url });
    expect(checked.get('https://10.0.0.5')).toMatchObject({ error: { code: 'EGRESS_DENIED' } });
    for (const url of late) {
      const message = expect.stringMatching(/^[cd]\.example was not checked: .* fewer host names/) as string;
      expect(checked.get(url)).toMatchObject({ error: { code: 'ENDPOINT_NOT_CHECKED', retryable: true, message } });
    }
  });

  it.each(['http://localhost:5091', 'http://a.localhost/', 'https://127.0.0.1:5091'])(
    'S3.2 rejects %s unless loopback is allowed',
    async (endpoint) => {
      await expect(checkWith(['127.0.0.1']).check(endpoint)).rejects.toMatchObject({ code: 'EGRESS_DENIED' });
      await checkWith(['127.0.0.1'], { allowLoopback: true }).check(endpoint);
    },
  );

  it('S3.2 rejects plain http to a public host', async () => {
    await expect(checkWith(['93.184.216.34']).check('http://agent.example/')).rejects.toThrow(/Use https/);
  });
});
