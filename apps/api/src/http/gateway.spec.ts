import type { IncomingMessage } from 'node:http';
import { Gateway } from './gateway.js';

function from(remoteAddress: string, headers: Record<string, string> = {}): IncomingMessage {
  return { headers, socket: { remoteAddress } } as unknown as IncomingMessage;
}

const FORWARDED = { 'x-forwarded-for': '203.0.113.9, 10.0.0.7', 'x-forwarded-proto': 'http, https' };

describe('what a gateway says', () => {
  it('is believed of one that is trusted', () => {
    const gateway = new Gateway(['10.0.0.0/8']);
    expect(gateway.addressOf(from('10.0.0.1', FORWARDED))).toBe('203.0.113.9');
    expect(gateway.saysHttps(from('10.0.0.1', FORWARDED))).toBe(true);
  });

  it('is not believed of a stranger, nor of anyone when nobody is trusted', () => {
    for (const gateway of [new Gateway(['10.0.0.0/8']), new Gateway([])]) {
      expect(gateway.addressOf(from('198.51.100.4', FORWARDED))).toBe('198.51.100.4');
      expect(gateway.saysHttps(from('198.51.100.4', FORWARDED))).toBe(false);
    }
  });

  it('may be nothing', () => {
    const gateway = new Gateway(['10.0.0.0/8']);
    expect(gateway.addressOf(from('10.0.0.1'))).toBe('10.0.0.1');
    expect(gateway.saysHttps(from('10.0.0.1'))).toBe(false);
  });
});
