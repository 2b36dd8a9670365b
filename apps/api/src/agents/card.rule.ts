import { ValidateIf } from 'class-validator';

interface WithCard {
  readonly name?: unknown;
  readonly capabilities?: unknown;
  readonly agentCard?: object | null;
  readonly cardUrl?: string;
}

/** The field is required unless the registration has a card, which then supplies the value. */
export function UnlessCard(field: 'name' | 'capabilities'): PropertyDecorator {
  return ValidateIf(({ [field]: value, agentCard, cardUrl }: WithCard) => {
    const hasCard = (agentCard !== undefined && agentCard !== null) || cardUrl !== undefined;
    return value !== undefined || !hasCard;
  });
}
