import { Secret } from '#rollcall/providers';
import { SecretBox } from './secret.box.js';

const OLD = 'o'.repeat(32);
const NEW = 'n'.repeat(32);
const SECRET = new Secret('whsec_abc');

describe('a secret box', () => {
  it('opens a secret that it sealed, and the sealed form does not reveal the secret', () => {
    const box = new SecretBox([OLD]);
    const sealed = box.seal(SECRET, 'wh_1');
    expect(sealed.toString('latin1')).not.toContain('whsec_abc');
    expect(box.open(sealed, 'wh_1').reveal()).toBe('whsec_abc');
    expect(box.seal(SECRET, 'wh_1')).not.toEqual(sealed);
  });

  it('does not open a secret for another owner, or a secret that was modified', () => {
    const box = new SecretBox([OLD]);
    const sealed = box.seal(SECRET, 'wh_1');
    expect(() => box.open(sealed, 'wh_2')).toThrow('authenticate');
    sealed[sealed.length - 1] = (sealed.at(-1) ?? 0) ^ 1;
    expect(() => box.open(sealed, 'wh_1')).toThrow('authenticate');
  });

  it('opens a secret with a key that is being replaced, and names the setting when the key is missing', () => {
    const sealed = new SecretBox([OLD]).seal(SECRET, 'wh_1');
    const both = new SecretBox([NEW, OLD]);
    expect(both.open(sealed, 'wh_1').reveal()).toBe('whsec_abc');
    expect(new SecretBox([NEW]).open(both.seal(SECRET, 'wh_1'), 'wh_1').reveal()).toBe('whsec_abc');
    expect(() => new SecretBox([NEW]).open(sealed, 'wh_1')).toThrow('ROLLCALL_SEALING_KEY');
  });
});
