/** The name of a definition becomes the id of its agent. */
const DEFINITION_NAME = /^[A-Za-z0-9][\w.:-]{0,127}$/;
const MAX_LENGTH = 128;

export function isDefinitionName(name: string): boolean {
  return DEFINITION_NAME.test(name);
}

/** Proposes a valid name that is similar to the text: `Code Reviewer` becomes `code-reviewer`. Undefined if there is none. */
export function proposedName(text: string): string | undefined {
  const words = text
    .slice(0, MAX_LENGTH)
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^\w.:-]/);
  const name = words
    .filter((word) => word !== '')
    .join('-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, MAX_LENGTH);
  return isDefinitionName(name) ? name : undefined;
}
