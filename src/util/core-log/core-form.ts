import type { LogFields } from '../log-levels.ts';

/** Facts of an event; the text of a line is made of them. */
export type EventFacts = LogFields;

/** How Core writes an event: its category, null for a line without one, and its text; null for our own text. */
export interface CoreForm {
  readonly category: string | null;
  readonly text: (facts: EventFacts) => string | null;
}

/** Core's form of events by our message. */
export type CoreForms = Readonly<Record<string, CoreForm>>;

/** Form of a line without a category. */
export const plainForm = (text: CoreForm['text']): CoreForm => ({ category: null, text });
