import { ProviderError, type ProviderErrorCode } from './errors.js';

interface RegistryTexts {
  /** The name of the kind of items, for error messages. */
  noun: string;
  unknown: ProviderErrorCode;
  taken: ProviderErrorCode;
}

/** Items by name. Names are unique. The error for an unknown name lists the known names. */
export class NamedRegistry<Item extends { readonly name: string }> {
  private readonly items = new Map<string, Item>();

  constructor(private readonly texts: RegistryTexts) {}

  register(item: Item): this {
    const { noun, taken } = this.texts;
    if (this.items.has(item.name))
      throw new ProviderError(taken, `There is already a ${noun} named ${item.name}. Rename one of them.`);
    this.items.set(item.name, item);
    return this;
  }

  has(name: string): boolean {
    return this.items.has(name);
  }

  get(name: string): Item {
    const item = this.items.get(name);
    if (item) return item;
    const { noun, unknown } = this.texts;
    const known = this.list().map((one) => one.name);
    throw new ProviderError(unknown, `There is no ${noun} named ${name}. Known: ${known.join(', ') || 'none yet'}.`);
  }

  /** Returns all items, sorted by name. */
  list(): Item[] {
    return [...this.items.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }
}
