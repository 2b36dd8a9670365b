const MAX_QUERIES = 5;
const MIN_QUERIES = 2;
const MAX_LENGTH = 500;
const MAX_CAPABILITIES = 3;

/** The examples of the skills in the agent card. The card is not validated, so it can contain any values. */
export function examplesIn(card: Readonly<Record<string, unknown>> | null): string[] {
  const skills: unknown = card?.['skills'];
  if (!Array.isArray(skills)) return [];
  const examples = skills.flatMap((skill: unknown) => (skill as { examples?: unknown } | null)?.examples ?? []);
  return examples.filter(
    (one): one is string => typeof one === 'string' && one.trim() !== '' && one.length <= MAX_LENGTH,
  );
}

/** Two to five questions that lead to the agent: the examples in its card, or questions made from its capabilities and its name. */
export function queriesFor(name: string, capabilities: readonly string[], examples: readonly string[]): string[] {
  const given = [...new Set(examples)].slice(0, MAX_QUERIES);
  if (given.length >= MIN_QUERIES) return given;
  const derived = capabilities.slice(0, MAX_CAPABILITIES).map((one) => `Which agent can do ${one}?`);
  return [...given, ...derived, `Send a task to ${name}.`, `What can ${name} do?`].slice(0, MAX_QUERIES);
}
