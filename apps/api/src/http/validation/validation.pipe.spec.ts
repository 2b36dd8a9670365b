import { getMetadataStorage, IsInt, IsOptional, Max, MetadataStorage, Min, ValidationTypes } from 'class-validator';
import { keepValidationRules } from './validation.pipe.js';

class Base {
  @IsInt() @Min(1) size: number;
}

class Derived extends Base {
  @IsOptional() @Max(9) level?: number;
  @Max(5, { groups: ['strict'] }) depth: number;
}

/** A storage of its own with the rules of the two classes, so that other tests do not see the change. */
function storageOf(): MetadataStorage {
  const storage = new MetadataStorage();
  for (const rule of getMetadataStorage().getTargetValidationMetadatas(Derived, '', false, false)) {
    storage.addValidationMetadata(rule);
  }
  return storage;
}

describe('the kept rules of a DTO', () => {
  it('keeps the rules that class-validator collects, including inherited rules', () => {
    const [original, keeping] = [storageOf(), storageOf()];
    keepValidationRules(keeping);
    const expected = original.getTargetValidationMetadatas(Derived, '', false, false);
    for (let round = 0; round < 2; round++) {
      const rules = keeping.getTargetValidationMetadatas(Derived, '', false, false);
      expect(rules).toEqual(expected);
      expect(keeping.groupByPropertyName(rules)).toEqual(original.groupByPropertyName(expected));
    }
    expect(expected.map(({ propertyName }) => propertyName)).toEqual(
      expect.arrayContaining(['size', 'level', 'depth']),
    );
    expect(expected.some(({ type }) => type === ValidationTypes.CUSTOM_VALIDATION)).toBe(true);
  });

  it('collects the rules of each class once', () => {
    const storage = storageOf();
    keepValidationRules(storage);
    const first = storage.getTargetValidationMetadatas(Derived, '', false, false);
    expect(storage.getTargetValidationMetadatas(Derived, '', false, false)).toBe(first);
    expect(storage.getTargetValidationMetadatas(Base, '', false, false)).not.toBe(first);
  });

  it('does not use the kept rules for a lookup with groups', () => {
    const [original, keeping] = [storageOf(), storageOf()];
    keepValidationRules(keeping);
    keeping.getTargetValidationMetadatas(Derived, '', false, false);
    const lookUp = (storage: MetadataStorage): unknown =>
      storage.getTargetValidationMetadatas(Derived, '', false, false, ['strict']);
    expect(lookUp(keeping)).toEqual(lookUp(original));
    expect(lookUp(keeping)).not.toEqual(keeping.getTargetValidationMetadatas(Derived, '', false, false));
  });
});
