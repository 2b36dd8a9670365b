import type { IncomingMessage } from 'node:http';
import { TrustedProxies } from './trusted-proxies.js';

function from(remoteAddress: string, headers: Record<string, string> = {}): IncomingMessage {
  return { headers, socket: { remoteAddress } } as unknown as IncomingMessage;
}

const FORWARDED = { 'x-forwarded-for': '203.0.113.9, 10.0.0.7' };

describe('TrustedProxies', () => {
  it('reads the client address from the header of a trusted proxy', () => {
    expect(new TrustedProxies(['10.0.0.0/8']).addressOf(from('10.0.0.1', FORWARDED))).toBe('203.0.113.9');
  });

  it('ignores the header of an untrusted sender', () => {
    for (const proxies of [new TrustedProxies(['10.0.0.0/8']), new TrustedProxies([])]) {
      expect(proxies.addressOf(from('198.51.100.4', FORWARDED))).toBe('198.51.100.4');
    }
  });

  it('uses the socket address when a trusted proxy sends no header', () => {
    expect(new TrustedProxies(['10.0.0.0/8']).addressOf(from('10.0.0.1'))).toBe('10.0.0.1');
  });

  it('A20 uses the socket address when the header contains no valid address', () => {
    const proxies = new TrustedProxies(['10.0.0.0/8']);
    for (const value of ['<b>hello</b>', 'x'.repeat(3_000), '203.0.113.9, nonsense', '203.0.113.9:4711', ''])
      expect(proxies.addressOf(from('10.0.0.1', { 'x-forwarded-for': value }))).toBe('10.0.0.1');
  });
});
