import { EgressPolicy, type EgressRules } from './egress.policy.js';
import { EndpointCheck } from './endpoint.check.js';

/** Names of a test's own making, so that no name server is asked. */
function checking(addresses: string[] | Error | 'never', rules: EgressRules = {}): EndpointCheck {
  return new EndpointCheck({
    policy: new EgressPolicy({ howToOpen: 'with ROLLCALL_EGRESS_ALLOW', ...rules }),
    timeoutMs: 20,
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
    'S3.2 refuses a name that leads to %s, and says which setting opens it',
    async (address) => {
      const refused = checking([address]).check('https://agent.example/');
      await expect(refused).rejects.toMatchObject({ code: 'EGRESS_DENIED' });
      await expect(refused).rejects.toThrow(/agent\.example.*ROLLCALL_EGRESS_ALLOW/);
    },
  );

  it('A19 refuses every closed address with the same message, which does not say where a name leads', async () => {
    const closed = ['10.0.0.5', '127.0.0.1', '169.254.169.254', '100.64.0.1', '::1', 'fd00::1', '224.0.0.1'];
    const urls = closed.flatMap((address) => [
      { address, url: 'https://agent.example/' },
      { address, url: 'http://agent.example/' },
    ]);
    const messages = await Promise.all(
      [...urls, { address: '93.184.216.34', url: 'http://agent.example/' }].map(
        async ({ address, url }) =>
          await checking([address])
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
  ])('A13 answers %s as it is to be kept', async (sent, kept) => {
    expect(await checking(['93.184.216.34']).check(sent)).toBe(kept);
  });

  it.each([
    'https://1.1.1.1\\@169.254.169.254/',
    'https:\\\\agent.example',
    'https://agent.example/a\tb',
    'https://agent\n.example/',
  ])('A13 refuses %j, which programs read differently', async (endpoint) => {
    await expect(checking(['93.184.216.34']).check(endpoint)).rejects.toThrow(/backslash or a control character/);
  });

  it('S3.2 takes a name that leads to the Internet, or to a network the operator opened', async () => {
    await expect(checking(['93.184.216.34']).check('https://agent.example/')).resolves.toBe('https://agent.example');
    const opened = checking(['10.0.0.5'], { allow: ['10.0.0.0/8'] });
    await expect(opened.check('http://agent.internal:8080/')).resolves.toBe('http://agent.internal:8080');
  });

  it('S3.2 takes a name of which one address is open, as a connection would', async () => {
    const mixed = checking(['10.0.0.5', '93.184.216.34']).check('https://agent.example/');
    await expect(mixed).resolves.toBe('https://agent.example');
  });

  it('S3.2 takes a name that does not resolve yet, or not in time: the connection judges it', async () => {
    await expect(checking(new Error('ENOTFOUND')).check('https://soon.example/')).resolves.toBe('https://soon.example');
    await expect(checking('never').check('https://slow.example/')).resolves.toBe('https://slow.example');
  });

  it('S3.2 leaves names to the connection while others are being resolved', async () => {
    const check = checking('never');
    const checks = Array.from({ length: 10 }, async () => await check.check('https://slow.example/'));
    expect(await Promise.all(checks)).toHaveLength(10);
  });

  it.each(['http://localhost:5091', 'http://a.localhost/', 'https://127.0.0.1:5091'])(
    'S3.2 refuses %s unless this machine is open',
    async (endpoint) => {
      await expect(checking(['127.0.0.1']).check(endpoint)).rejects.toMatchObject({ code: 'EGRESS_DENIED' });
      await checking(['127.0.0.1'], { allowLoopback: true }).check(endpoint);
    },
  );

  it('S3.2 refuses plain http to a name of the Internet', async () => {
    await expect(checking(['93.184.216.34']).check('http://agent.example/')).rejects.toThrow(/Use https/);
  });
});
