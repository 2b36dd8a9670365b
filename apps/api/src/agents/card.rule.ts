import { ValidateIf } from 'class-validator';
import type { RegisterBody } from './agents.dto.js';

/** The field is required, unless the registration has a card, which then replaces it. */
export function UnlessCard(field: 'name' | 'capabilities'): PropertyDecorator {
  return ValidateIf(({ [field]: value, agentCard, cardUrl }: RegisterBody) => {
    const hasCard = (agentCard !== undefined && agentCard !== null) || cardUrl !== undefined;
    return value !== undefined || !hasCard;
  });
}
