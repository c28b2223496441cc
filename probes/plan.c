/* Plans: read and checked. */
#include "probe.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char sentence[512];
static const char* file_name;
static int line_number;

static const char* wrong(const char* format, ...) __attribute__((format(printf, 1, 2)));
static const char* wrong(const char* format, ...) {
  const int at = line_number ? snprintf(sentence, sizeof sentence, "%s:%d: ", file_name, line_number)
                             : snprintf(sentence, sizeof sentence, "%s: ", file_name);
  va_list words;
  va_start(words, format);
  vsnprintf(sentence + at, sizeof sentence - (size_t)at, format, words);
  va_end(words);
  return sentence;
}

static bool integer(const char* text, long long least, long long most, long long* value) {
  char* end;
  errno = 0;
  *value = strtoll(text, &end, 10);
  return errno == 0 && *text && !isspace((unsigned char)*text) && !*end && *value >= least && *value <= most;
}

static bool real(const char* text, double least, double most, double* value) {
  char* end;
  *value = strtod(text, &end);
  return *text && !isspace((unsigned char)*text) && !*end && isfinite(*value) && *value >= least && *value <= most;
}

/* The part of a kind's description that belongs to a key, "size=8" of "a:rank bytes:size=8"; its length is returned. */
static size_t described(const Kind* kind, const char* key, const char** found) {
  const size_t length = strlen(key);
  for (const char* at = kind->keys; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
    if (strncmp(at, key, length) == 0 && at[length] == ':') {
      *found = at + length + 1;
      return strcspn(*found, " ");
    }
  }
  return 0;
}

static const char* check_value(const Item* item, const char* key, const char* value) {
  const char* what = NULL;
  size_t length = described(item->kind, key, &what);
  char type[512];
  const char* equals = memchr(what, '=', length);
  if (equals) length = (size_t)(equals - what);
  snprintf(type, sizeof type, "%.*s", (int)length, what);
  long long n;
  double x;
  const char* allowed = NULL;
  if (strcmp(type, "rank") == 0 && !integer(value, 0, 1 << 24, &n)) allowed = "a rank, from 0";
  if (strcmp(type, "size") == 0 && !integer(value, 0, 1 << 30, &n)) allowed = "bytes, up to 1073741824";
  if (strcmp(type, "count") == 0 && !integer(value, 1, 1 << 30, &n)) allowed = "a whole number from 1";
  if (strcmp(type, "number") == 0 && !integer(value, 0, 1 << 30, &n)) allowed = "a whole number from 0";
  if (strcmp(type, "core") == 0 && !integer(value, -1, 1023, &n)) allowed = "a core, from 0, or -1 for any";
  if (strcmp(type, "flag") == 0 && !integer(value, 0, 1, &n)) allowed = "0 or 1";
  if (strcmp(type, "seconds") == 0 && !real(value, 0, 1e6, &x)) allowed = "seconds, from 0";
  if (allowed) return wrong("item %s: %s=%s: %s is allowed", item->id, key, value, allowed);
  if (strchr(type, '|')) {
    const size_t size = strlen(value);
    for (const char* at = type; *at; at += strcspn(at, "|"), at += *at == '|') {
      if (strcspn(at, "|") == size && strncmp(at, value, size) == 0) return NULL;
    }
    return wrong("item %s: %s=%s: %s is allowed", item->id, key, value, type);
  }
  return NULL;
}

static const char* read_item(Plan* plan, char* rest, const Kind* kinds, int count) {
  char* state;
  char* id = strtok_r(rest, " \t", &state);
  char* kind = id ? strtok_r(NULL, " \t", &state) : NULL;
  if (kind == NULL) return wrong("an item is 'item ID KIND key=value ...'");
  plan->item = realloc(plan->item, sizeof *plan->item * (size_t)(plan->items + 1));
  if (plan->item == NULL) return wrong("there is no memory for so many items");
  Item* item = &plan->item[plan->items++];
  *item = (Item){.id = id, .line = line_number, .trips = 1};
  for (int i = 0; i < plan->items - 1; i++) {
    if (strcmp(plan->item[i].id, id) == 0) return wrong("item %s is there already, in line %d", id, plan->item[i].line);
  }
  for (int i = 0; i < count; i++) {
    if (strcmp(kinds[i].name, kind) == 0) item->kind = &kinds[i];
  }
  if (item->kind == NULL) return wrong("item %s: kind %s is not known here", id, kind);
  for (char* word; (word = strtok_r(NULL, " \t", &state)) != NULL;) {
    char* equals = strchr(word, '=');
    if (equals == NULL) return wrong("item %s: %s: key=value is allowed", id, word);
    *equals = '\0';
    const char* what;
    if (described(item->kind, word, &what) == 0) {
      return wrong("item %s: %s: keys of %s are %s", id, word, kind, *item->kind->keys ? item->kind->keys : "none");
    }
    for (int i = 0; i < item->keys; i++) {
      if (strcmp(item->key[i], word) == 0) return wrong("item %s: %s is given twice", id, word);
    }
    if (item->keys == MOST_KEYS) return wrong("item %s: too many keys", id);
    item->key[item->keys] = word;
    item->value[item->keys++] = equals + 1;
    const char* error = check_value(item, word, equals + 1);
    if (error) return error;
  }
  for (const char* at = item->kind->keys; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
    char key[64];
    snprintf(key, sizeof key, "%.*s", (int)strcspn(at, ":"), at);
    const size_t length = strcspn(at, " ");
    bool given = memchr(at, '=', length) != NULL;
    for (int i = 0; i < item->keys; i++) given |= strcmp(item->key[i], key) == 0;
    if (!given) return wrong("item %s: %s= is missing", id, key);
  }
  return NULL;
}

static const char* read_bind(Plan* plan, char* rest) {
  char* state;
  plan->bind = malloc(sizeof *plan->bind * (strlen(rest) / 2 + 1));
  if (plan->bind == NULL) return wrong("there is no memory for so many ranks");
  plan->bound = 0;
  for (char* word = strtok_r(rest, " \t", &state); word; word = strtok_r(NULL, " \t", &state)) {
    long long cpu;
    if (!integer(word, -1, 1023, &cpu)) return wrong("bind %s: a processor from 0, or -1, is allowed", word);
    plan->bind[plan->bound++] = (int)cpu;
  }
  return plan->bound ? NULL : wrong("bind: a processor for each rank is allowed");
}

static const char* read_setting(Plan* plan, const char* word, char* rest) {
  long long n = 0, m = 0;
  if (strcmp(word, "bind") == 0) return read_bind(plan, rest);
  char* state;
  char* first = strtok_r(rest, " \t", &state);
  char* second = first ? strtok_r(NULL, " \t", &state) : NULL;
  if (first == NULL) first = rest + strlen(rest);
  if (strcmp(word, "budget") == 0) {
    return real(first, 1e-3, 1e6, &plan->budget) ? NULL : wrong("budget %s: seconds are allowed", first);
  }
  if (strcmp(word, "tolerance") == 0) {
    return real(first, 0, 1, &plan->tolerance) ? NULL : wrong("tolerance %s: a number from 0 to 1 is allowed", first);
  }
  if (strcmp(word, "samples") == 0) {
    if (second == NULL || !integer(first, 1, 1 << 24, &n) || !integer(second, n, 1 << 24, &m)) {
      return wrong("samples: two whole numbers are allowed, the least and the most");
    }
    plan->least = (long)n;
    plan->most = (long)m;
    return NULL;
  }
  if (strcmp(word, "seed") == 0) {
    if (!integer(first, 0, 0x7fffffffffffffff, &n)) return wrong("seed %s: a whole number is allowed", first);
    plan->seed = (uint64_t)n;
    return NULL;
  }
  if (strcmp(word, "clocks") == 0) {
    plan->measured_clocks = strcmp(first, "measured") == 0;
    return plan->measured_clocks || strcmp(first, "shared") == 0
               ? NULL
               : wrong("clocks %s: shared or measured is allowed", first);
  }
  return wrong("%s: budget, tolerance, samples, seed, clocks, bind or item is allowed", word);
}

const char* plan_read(Plan* plan, char* text, const char* file, const Kind* kinds, int count) {
  *plan = (Plan){.budget = 60, .tolerance = 0.02, .least = 10, .most = 1000, .seed = 1};
  file_name = file;
  line_number = 0;
  for (char* line = text; line != NULL;) {
    char* end = strchr(line, '\n');
    if (end) *end++ = '\0';
    line_number++;
    if (line_number == 1 && strcmp(line, "isthmus-plan 1") != 0) return wrong("a plan begins with 'isthmus-plan 1'");
    char* word = line + strspn(line, " \t");
    char* rest = word + strcspn(word, " \t");
    if (line_number > 1 && *word && *word != '#') {
      if (*rest) *rest++ = '\0';
      const char* error =
          strcmp(word, "item") == 0 ? read_item(plan, rest, kinds, count) : read_setting(plan, word, rest);
      if (error) return error;
    }
    line = end;
  }
  line_number = 0;
  return plan->items ? NULL : wrong("there is no item in it");
}

const char* item_text(const Item* item, const char* key) {
  for (int i = 0; i < item->keys; i++) {
    if (strcmp(item->key[i], key) == 0) return item->value[i];
  }
  const char* what;
  static char value[4][64];
  static int turn;
  turn = (turn + 1) % 4;
  const size_t length = described(item->kind, key, &what);
  const char* equals = length ? memchr(what, '=', length) : NULL;
  if (equals == NULL) return "";
  snprintf(value[turn], sizeof value[turn], "%.*s", (int)(length - (size_t)(equals + 1 - what)), equals + 1);
  return value[turn];
}

int item_columns(const Item* item) {
  /* A nonblocking collective has its time, that in calls, the time alone, and what is exposed; others time and skew. */
  if (item->kind->columns == 0) return item_integer(item, "blocking") ? 2 : 4;
  return item->kind->columns;
}

long item_integer(const Item* item, const char* key) { return atol(item_text(item, key)); }
double item_real(const Item* item, const char* key) { return atof(item_text(item, key)); }
bool item_is(const Item* item, const char* key, const char* value) { return strcmp(item_text(item, key), value) == 0; }

char* read_file(const char* path) {
  FILE* stream = fopen(path, "r");
  if (stream == NULL) return NULL;
  char* text = NULL;
  size_t used = 0;
  for (;;) {
    char* more = realloc(text, used + 65536 + 1);
    if (more == NULL) break;
    text = more;
    const size_t n = fread(text + used, 1, 65536, stream);
    used += n;
    if (n == 0) break;
  }
  if (text) text[used] = '\0';
  if (ferror(stream)) {
    free(text);
    text = NULL;
  }
  fclose(stream);
  return text;
}

void read_line(const char* path, char* line, size_t size) {
  line[0] = '\0';
  FILE* stream = fopen(path, "r");
  if (stream == NULL) return;
  if (fgets(line, (int)size, stream) == NULL) line[0] = '\0';
  line[strcspn(line, "\n")] = '\0';
  fclose(stream);
}
