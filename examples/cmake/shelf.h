// How many of each thing are on the shelf.
#pragma once

class Shelf
{
  public:
    void add(int thing);
    int total() const;

  private:
    int count[8] = {};
    int changes = 0;
};
