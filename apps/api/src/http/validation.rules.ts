import { getMetadataStorage } from 'class-validator';

type Storage = ReturnType<typeof getMetadataStorage>;
type Rules = ReturnType<Storage['getTargetValidationMetadatas']>;

/**
 * Makes class-validator keep the rules of each DTO. Otherwise, it collects the rules from all classes for every object it checks.
 * The rules of a class do not change after its decorators have run. Lookups with groups or a schema are not kept. See ADR 4.
 */
export function keepValidationRules(storage: Storage): void {
  const collect = storage.getTargetValidationMetadatas.bind(storage);
  const group = storage.groupByPropertyName.bind(storage);
  const rulesOf = new WeakMap<object, Rules>();
  const groupsOf = new WeakMap<Rules, ReturnType<typeof group>>();
  storage.getTargetValidationMetadatas = (target, schema, always, strictGroups, groups) => {
    if (schema || always || strictGroups || groups) return collect(target, schema, always, strictGroups, groups);
    return kept(rulesOf, target, () => collect(target, schema, always, strictGroups));
  };
  storage.groupByPropertyName = (rules) => kept(groupsOf, rules, () => group(rules));
}

function kept<Key extends object, Value>(values: WeakMap<Key, Value>, key: Key, create: () => Value): Value {
  const known = values.get(key);
  if (known !== undefined) return known;
  const created = create();
  values.set(key, created);
  return created;
}
