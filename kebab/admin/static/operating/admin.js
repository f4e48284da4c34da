// Read after htmx and before it begins: it would write a style element and compile text, which the policy
// of these pages forbids the one and nothing here needs the other.
htmx.config.includeIndicatorStyles = false;
htmx.config.allowEval = false;
