import { ProviderError, type ProviderErrorCode } from './errors.js';

interface Words {
  /** What is registered, in an error message. */
  noun: string;
  unknown: ProviderErrorCode;
  taken: ProviderErrorCode;
}

/** Things known by their name. A name is taken once; an unknown one is answered with those that are known. */
export class NamedRegistry<Thing extends { readonly name: string }> {
  private readonly things = new Map<string, Thing>();

  constructor(private readonly words: Words) {}

  register(thing: Thing): this {
    const { noun, taken } = this.words;
    if (this.things.has(thing.name))
      throw new ProviderError(taken, `There is already a ${noun} named ${thing.name}. Give one of them another name.`);
    this.things.set(thing.name, thing);
    return this;
  }

  has(name: string): boolean {
    return this.things.has(name);
  }

  get(name: string): Thing {
    const thing = this.things.get(name);
    if (thing) return thing;
    const { noun, unknown } = this.words;
    const known = this.list().map((one) => one.name);
    throw new ProviderError(unknown, `There is no ${noun} named ${name}. Known: ${known.join(', ') || 'none yet'}.`);
  }

  /** By name. */
  list(): Thing[] {
    return [...this.things.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }
}
