import { ProviderError, type ProviderErrorCode } from './errors.js';

interface RegistryErrors {
  /** What error messages call an item, such as `model vendor`. */
  noun: string;
  unknownCode: ProviderErrorCode;
  takenCode: ProviderErrorCode;
}

/** Items by name. Names are unique. The error for an unknown name lists the known names. */
export class NamedRegistry<Item extends { readonly name: string }> {
  private readonly items = new Map<string, Item>();

  constructor(private readonly errors: RegistryErrors) {}

  register(item: Item): this {
    const { noun, takenCode } = this.errors;
    if (this.items.has(item.name))
      throw new ProviderError(
        takenCode,
        `The name ${item.name} is already used by another ${noun}. Rename one of them.`,
      );
    this.items.set(item.name, item);
    return this;
  }

  has(name: string): boolean {
    return this.items.has(name);
  }

  get(name: string): Item {
    const item = this.items.get(name);
    if (item) return item;
    const { noun, unknownCode } = this.errors;
    const known = this.list().map((one) => one.name);
    throw new ProviderError(
      unknownCode,
      `There is no ${noun} named ${name}. Known: ${known.join(', ') || 'none yet'}.`,
    );
  }

  /** Returns all items, sorted by name. */
  list(): Item[] {
    return [...this.items.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }
}
